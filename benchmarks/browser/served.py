"""A server of one's own for the length of a run, with as small a queue as a step needs."""

import argparse
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from optimizer import load_catalogs
from optimizer.serve.application import application
from optimizer.serve.http.safety import Admission
from optimizer.serve.jobs.service import JobService, ServiceLimits

START_S = 60


@contextmanager
def served(workers: int = 2, max_waiting: int = 32) -> Iterator[str]:
    """The address of a server that ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    limits = ["--workers", str(workers), "--max-waiting", str(max_waiting)]
    server = subprocess.Popen([sys.executable, "-m", "browser.served", "--port", str(port), *limits])
    try:
        _await(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def _await(port: int) -> None:
    for _ in range(START_S * 10):
        with socket.socket() as trying:
            if trying.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"no server on port {port} after {START_S} s")


def main() -> None:
    """Serves until it is ended."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--port", type=int, required=True)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--max-waiting", type=int, default=32)
    chosen = options.parse_args()
    limits = ServiceLimits(workers=chosen.workers, max_waiting=chosen.max_waiting)
    app = application(JobService(load_catalogs(), limits), Admission())
    uvicorn.run(app, host="127.0.0.1", port=chosen.port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
