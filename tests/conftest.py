"""Starts the tests: one thread per process, then the options and fixtures that many tests share."""

import os

for library in ("OPENBLAS", "OMP", "MKL"):
    # xdist runs a process per core already; more threads than cores only wait for each other
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

pytest_plugins = ("support.golden", "support.shared")
