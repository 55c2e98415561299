"""Processes that are handed one thing after another: none of them hears Ctrl-C, which their parent ends them for."""

import os
import subprocess
import sys
from pathlib import Path

from support.paths import ROOT

STARTED = """
import signal
from optimizer.base.workers import WorkerProcess

def life(connection):
    connection.recv()
    while True:
        connection.recv()
        connection.send(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))

if __name__ == "__main__":
    workers = [WorkerProcess(life, None) for _ in range(2)]
    for worker in workers:
        worker.ask("")
    print(*(worker.answer() for worker in workers), signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    for worker in workers:
        worker.end()
"""


def test_no_process_hears_interrupts_not_even_the_first(tmp_path: Path) -> None:
    script = tmp_path / "started.py"
    script.write_text(STARTED)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    said = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert said.stdout.split() == ["True", "True", "False"]
