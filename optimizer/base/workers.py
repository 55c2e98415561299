"""A process that is handed one thing after another, each of which may end it without harm to anything else."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any


def cores() -> int:
    """As many as this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerProcess:
    """A process that loads what is known once, then answers what it is handed; one that dies is replaced.

    `kill` may come from another thread at any moment. That it never ends the successor of the one that was meant,
    `answer` merely says that a process died, and `renew` is called when there is nobody left to mean that one.
    """

    def __init__(self, life: Callable[[Connection], None], known: Any) -> None:
        """Starts it.

        Args:
            life: A function of a module: what the process does with its end of the connection until nobody asks.
            known: What comes through the connection before the first thing that is asked.
        """
        self._life, self._known, self._is_over = life, known, False
        self._start()

    def _start(self) -> None:
        # a new interpreter: a copy of this one would copy its threads' locks without the threads
        context = multiprocessing.get_context("spawn")
        connection, there = context.Pipe()
        process = context.Process(target=self._life, args=(there,), daemon=True)
        with _interrupts_held_back(), there:
            process.start()
        self.connection, self._process = connection, process
        self._is_told = self._has_died = self.is_killed = False

    def ask(self, run: Any) -> None:
        """Hands over what is to be done; what is known goes before the first, once all processes have begun to load."""
        if self._has_died:
            self.renew()
        # where the process has died, whoever waits for its answer finds that out
        with suppress(OSError):
            if not self._is_told:
                self.connection.send(self._known)
                self._is_told = True
            self.connection.send(run)

    def answer(self) -> Any | None:
        """What the process says next; None where it died."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            self._has_died = True
            return None

    def kill(self) -> None:
        """Ends the process whatever it is at; whoever asks for its next answer is told that it died."""
        self.is_killed = True
        self._process.kill()

    def renew(self) -> None:
        """Another process where this one died or was ended.

        Raises:
            OSError: the system has none to give just now.
        """
        if self._is_over or not (self._has_died or self.is_killed):
            return
        self._stop()
        self._start()
        if self._is_over:
            self._stop()

    def end(self) -> None:
        """At once, whatever it is at, and for good."""
        self._is_over = True
        self._stop()

    def _stop(self) -> None:
        self._process.kill()
        self._process.join()
        self.connection.close()


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Processes that start here never hear Ctrl-C, which ends them through their parent; it hears it afterwards."""
    # it starts with the first process, and lets interrupts through again as it does
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
