"""Where a gate's answer goes; every end writes it, so that no comment of yesterday stands for a verdict of today."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from optimizer.base.errors import Finding, InputError
from optimizer.base.files import read_text
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
        history: A CSV file that the verdict joins.
        day: That ages are counted from; empty where nobody says.
        run_url: Where this run can be looked at.
    """

    inputs: Sequence[Path]
    junit: Path | None
    sarif: Path | None
    comment: Path | None
    history: Path | None
    answer: Path | None
    answer_format: Format
    day: str = ""
    run_url: str = ""

    def check(self) -> None:
        """Says early what cannot be written; to be asked once the inputs are read.

        Raises:
            InputError: a file cannot be written, or is an input.
        """
        check_writable(self.answer, self.junit, self.sarif, self.comment)
        if self.history is not None:
            calls.verdicts_in(_so_far(self.history), str(self.history))

    def deliver(self, report: "calls.GateReport") -> None:
        """Writes all of them; the history last, so that it has one line of a run that fails on the way."""
        remembered = self._remembered(report)
        verdicts = calls.verdicts_in(remembered, str(self.history))
        for path, text in self._files(report, verdicts):
            write(text, path)
        deliver(calls.gate_answer(report, verdicts), report, self.answer_format, self.answer)
        self._remember(remembered)

    @property
    def place(self) -> str:
        """Where to show problems that no file has: the first scenario as named."""
        return str(self.inputs[0])

    def _files(
        self, report: "calls.GateReport", verdicts: Sequence["calls.Remembered"] = ()
    ) -> Iterator[tuple[Path, str]]:
        forms = (self.junit, calls.gate_junit), (self.sarif, calls.gate_sarif)
        yield from ((path, form(report)) for path, form in forms if path is not None)
        if self.comment is not None:
            rest = self.comment.with_name(f"{self.comment.stem}.rest{self.comment.suffix}")
            comment = calls.gate_comment(report, self.run_url, rest.name, verdicts)
            yield self.comment, comment.text
            if comment.rest:
                yield rest, comment.rest

    def _remembered(self, report: "calls.GateReport") -> str:
        """The history with this verdict; empty where none is kept."""
        if self.history is None:
            return ""
        before, file = _so_far(self.history), str(self.history)
        return calls.appended(before, report, day=self.day, run_url=self.run_url, file=file)

    def _remember(self, remembered: str) -> None:
        if self.history is not None:
            write(remembered, self.history, over_inputs=True)

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
        files = (self.answer, self.junit, self.sarif, self.comment, self.history)
        paths = [path for path in files if path is not None]
        if not paths or any(_is_input(path, self.inputs) for path in paths):
            return
        report = calls.not_evaluated(findings, self.place)
        for path, text in self._files(report):
            with suppress(InputError):
                write(text, path)
        with suppress(InputError):
            self._remember(self._remembered(report))
        if self.answer is not None:
            with suppress(InputError):
                deliver(calls.gate_answer(report), report, self.answer_format, self.answer)


def _so_far(history: Path) -> str:
    return read_text(history) if history.exists() else ""


def _is_input(path: Path, inputs: Sequence[Path]) -> bool:
    """Whether writing there would write over what was to be read, had the gate come that far."""
    written, named = path.resolve(), [given.resolve() for given in inputs]
    return written in named or (written.parent in named and written.suffix in READ)
