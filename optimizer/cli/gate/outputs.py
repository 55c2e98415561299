"""Where a gate's answer goes; every end writes it, so that no comment of yesterday stands for a verdict of today."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from optimizer.base.errors import Finding, InputError
from optimizer.cli import calls
from optimizer.cli.options import Format, check_writable, deliver, write


@dataclass(frozen=True)
class Outputs:
    """Files for a pipeline, each where it was asked for, and the answer itself.

    Attributes:
        place: The first scenario as named, where to show problems that no file has.
    """

    place: str
    junit: Path | None
    sarif: Path | None
    comment: Path | None
    answer: Path | None
    answer_format: Format

    def deliver(self, report: "calls.GateReport") -> None:
        """Writes all of them."""
        for path, text in self._files(report):
            write(text, path)
        deliver(calls.gate_answer(report), report, self.answer_format, self.answer)

    def _files(self, report: "calls.GateReport") -> Iterator[tuple[Path, str]]:
        forms = (self.junit, calls.gate_junit), (self.sarif, calls.gate_sarif), (self.comment, calls.gate_comment)
        for path, form in forms:
            if path is not None:
                yield path, form(report)

    @contextmanager
    def at_every_end(self) -> Iterator[None]:
        """Whatever ends the gate before its verdict is written into every output, then raised on."""
        try:
            check_writable(self.answer, self.junit, self.sarif, self.comment)
            yield
        except InputError as error:
            self._without_verdict(error.findings)
            raise
        except (Exception, KeyboardInterrupt) as error:
            what = " ".join(f"{type(error).__name__}: {error}".split())
            self._without_verdict((Finding("optimizer", 0, "", f"ended before it could judge ({what})"),))
            raise

    def _without_verdict(self, findings: tuple[Finding, ...]) -> None:
        """As many files as can be written; the terminal is told by the error itself."""
        if not any((self.answer, self.junit, self.sarif, self.comment)):
            return
        report = calls.not_evaluated(findings, self.place)
        for path, text in self._files(report):
            with suppress(InputError):
                write(text, path)
        if self.answer is not None:
            with suppress(InputError):
                deliver(calls.gate_answer(report), report, self.answer_format, self.answer)
