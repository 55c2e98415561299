"""Where a gate's answer goes; every end writes it, so that no comment of yesterday stands for a verdict of today."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from optimizer.base.errors import Finding, InputError
from optimizer.cli import calls
from optimizer.cli.options import Format, check_writable, deliver, write
from optimizer.cli.signals import Ended

READ: Final = frozenset({".yaml", ".yml", ".json", ".csv"})
"""What a gate may read of a folder."""


@dataclass(frozen=True)
class Outputs:
    """Files for a pipeline, each where it was asked for, and the answer itself.

    Attributes:
        inputs: Scenarios first, baselines, catalogs and pin as named; nothing is written over them.
    """

    inputs: Sequence[Path]
    junit: Path | None
    sarif: Path | None
    comment: Path | None
    answer: Path | None
    answer_format: Format

    def check(self) -> None:
        """Says early what cannot be written; to be asked once the inputs are read.

        Raises:
            InputError: a file cannot be written, or is an input.
        """
        check_writable(self.answer, self.junit, self.sarif, self.comment)

    def deliver(self, report: "calls.GateReport") -> None:
        """Writes all of them."""
        for path, text in self._files(report):
            write(text, path)
        deliver(calls.gate_answer(report), report, self.answer_format, self.answer)

    @property
    def place(self) -> str:
        """Where to show problems that no file has: the first scenario as named."""
        return str(self.inputs[0])

    def _files(self, report: "calls.GateReport") -> Iterator[tuple[Path, str]]:
        forms = (self.junit, calls.gate_junit), (self.sarif, calls.gate_sarif), (self.comment, calls.gate_comment)
        for path, form in forms:
            if path is not None:
                yield path, form(report)

    @contextmanager
    def at_every_end(self) -> Iterator[None]:
        """Whatever ends the gate before its verdict is written into every output, then raised on."""
        try:
            yield
        except InputError as error:
            self._without_verdict(error.findings)
            raise
        except (KeyboardInterrupt, Ended):
            self._without_verdict((Finding("optimizer", 0, "", "was ended from outside before it could judge"),))
            raise
        except Exception as error:
            what = " ".join(f"{type(error).__name__}: {error}".split())
            self._without_verdict((Finding("optimizer", 0, "", f"ended before it could judge ({what})"),))
            raise

    def _without_verdict(self, findings: tuple[Finding, ...]) -> None:
        """As many files as can be written; the terminal is told by the error itself."""
        paths = [path for path in (self.answer, self.junit, self.sarif, self.comment) if path is not None]
        if not paths or any(_is_input(path, self.inputs) for path in paths):
            return
        report = calls.not_evaluated(findings, self.place)
        for path, text in self._files(report):
            with suppress(InputError):
                write(text, path)
        if self.answer is not None:
            with suppress(InputError):
                deliver(calls.gate_answer(report), report, self.answer_format, self.answer)


def _is_input(path: Path, inputs: Sequence[Path]) -> bool:
    """Whether writing there would write over what was to be read, had the gate come that far."""
    written, named = path.resolve(), [given.resolve() for given in inputs]
    return written in named or (written.parent in named and written.suffix in READ)
