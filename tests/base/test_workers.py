"""Processes that are handed one thing after another: none hears Ctrl-C, and one that dies is replaced."""

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
    first = workers[0]
    first.kill()
    print(first.answer())
    # whoever means the process that died comes too late, and not too early for the next one
    first.kill()
    first.renew()
    first.ask("")
    print(first.answer())
    for worker in workers:
        worker.end()
"""


def test_no_process_hears_interrupts_and_the_one_that_dies_is_replaced(tmp_path: Path) -> None:
    script = tmp_path / "started.py"
    script.write_text(STARTED)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    said = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert said.stdout.split() == ["True", "True", "False", "None", "True"]
