"""Files for a reader led by coverage: one that reaches code which none reached before is changed on (atheris).

    pip install atheris
    PYTHONPATH=benchmarks python -m fuzz.guided scenario --cpu-s 180

Files are changed as those of the campaign are, or byte by byte. Ends with 1 where one was neither read nor refused.
"""

import argparse
import csv
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

MAX_BYTES = 60_000


class Guided:
    """A reader, the files that it reads, and what became of those made of them.

    An input's first byte says of which file it was made, which decides its name.
    """

    def __init__(self, readers: Any, atheris: Any, name: str, folder: Path, cpu_s: float) -> None:
        """Starts the clock.

        Args:
            readers: The module, imported so that what it reaches is counted.
            atheris: The module, whose `Mutate` is another one once the search has begun.
            name: Of the reader.
            folder: For its files.
            cpu_s: CPU seconds after which it ends.
        """
        self._readers, self._atheris, self._name, self._folder = readers, atheris, name, folder
        self._seeds = readers.READERS[name].seeds()
        self._until_s = time.process_time() + cpu_s
        self.found, self.kinds = Counter[str](), Counter[str]()

    def corpus(self) -> Path:
        """A folder of the files that it reads."""
        place = self._folder / "corpus"
        place.mkdir()
        for at, seed in enumerate(self._seeds[:256]):
            (place / str(at)).write_bytes(bytes([at]) + seed.content[:MAX_BYTES])
        return place

    def read(self, content: bytes) -> None:
        """Reads one input, and tells the first of each kind that broke something."""
        seed = self._seeds[(content[0] if content else 0) % len(self._seeds)]
        path = self._folder / seed.name
        path.write_bytes(content[1:])
        tried = self._readers.judged(self._name, 0, path)
        self.found[tried.outcome] += 1
        if tried.outcome in ("defect", "slow"):
            kind = tried.text.strip().splitlines()[-1][:160]
            self.kinds[kind] += 1
            if self.kinds[kind] == 1:
                sys.stderr.write(f"{tried.outcome} of {seed.name}\n{tried.text}\n{content[1:3000]!r}\n")
        if time.process_time() > self._until_s:
            self._until_s = float("inf")
            self._tell()
            # on this the search ends with its own figures
            os.kill(os.getpid(), signal.SIGUSR1)

    def change(self, content: bytes, max_size: int, number: int) -> bytes:
        """Another input from one: as the campaign changes files, or a few bytes."""
        luck = random.Random(number)
        first, rest = content[:1] or b"\0", content[1:]
        seed = self._seeds[first[0] % len(self._seeds)]
        if luck.random() < 0.3:
            return first + bytes(self._atheris.Mutate(rest, max_size - 1))
        try:
            return first + bytes(self._readers.changed(self._readers.Seed(seed.name, rest), luck))[: max_size - 1]
        except (ValueError, RecursionError, csv.Error):
            # what is no JSON any more, or no table
            return first + bytes(self._atheris.Mutate(rest, max_size - 1))

    def _tell(self) -> None:
        print(json.dumps({"reader": self._name, **self.found, "kinds": dict(self.kinds)}), flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("reader")
    arguments.add_argument("--cpu-s", type=float, default=180.0, help="CPU seconds.")
    arguments.add_argument("--seed", type=int, default=1, help="Of the search; coverage decides, too.")
    chosen = arguments.parse_args()
    atheris = import_module("atheris")
    with atheris.instrument_imports(include=["optimizer"]):
        readers = import_module("fuzz.readers")
    with tempfile.TemporaryDirectory() as folder:
        guided = Guided(readers, atheris, chosen.reader, Path(folder), chosen.cpu_s)
        options = [f"-max_len={MAX_BYTES}", "-rss_limit_mb=4000", "-timeout=60", f"-seed={chosen.seed}"]
        options += ["-print_final_stats=1", f"-artifact_prefix={folder}/"]
        atheris.Setup([sys.argv[0], *options, str(guided.corpus())], guided.read, custom_mutator=guided.change)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
