"""The exception tree, the finding that every input error is made of, and what commands end with.

OptimizerError
├── InputError          the user can mend it: scenario, catalog or command line (exit 2)
├── SolverFailure       the solver broke its promise (exit 70)
└── VerificationFailed  a plan did not survive independent arithmetic (exit 70)
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final

SHOWN_CHARACTERS: Final = 2000
"""Of a field or a problem in a message."""


class Exit(IntEnum):
    """What a command ends with."""

    ANSWERED = 0
    BROKEN = 1
    BAD_INPUT = 2
    NO_PLAN = 3
    UNPROVEN = 4
    OUR_FAULT = 70
    INTERRUPTED = 130


EXIT_BY_OUTCOME: Final = {
    "optimal": Exit.ANSWERED,
    "infeasible": Exit.NO_PLAN,
    "feasible": Exit.UNPROVEN,
    "unproven": Exit.UNPROVEN,
    "failed": Exit.OUR_FAULT,
}
"""What a command ends with that answers with one plan."""


@dataclass(frozen=True, order=True)
class Finding:
    """One problem in an input: where it is, what is wrong and how to mend it.

    Attributes:
        file: The file as the user named it, or the command-line option.
        line: Line in the file, 1-based; 0 when the problem has no line.
        field: Path of the field, list elements by name: `workloads[chat].slo.ttft_ms`.
        problem: What is wrong, in one clause.
        hint: How to mend it; empty when the problem says it.
    """

    file: str
    line: int
    field: str
    problem: str
    hint: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        field = f" {_short(self.field)}:" if self.field else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{where}:{field} {_short(self.problem)}{hint}"


def _short(text: str) -> str:
    """A text that may quote an input, cut where nobody reads on."""
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


class OptimizerError(Exception):
    """Whatever this package raises on purpose."""


class InputError(OptimizerError):
    """The input cannot be used; carries every problem found, not only the first."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(sorted(set(findings)))
        super().__init__("\n".join(str(finding) for finding in self.findings))


def refuse(findings: Iterable[Finding]) -> None:
    """Raises InputError: there is a problem; it carries all of them."""
    if found := tuple(findings):
        raise InputError(found)


class SolverFailure(OptimizerError):
    """The solver ended without an answer it can stand for."""


class VerificationFailed(OptimizerError):
    """The plan broke a promise under independent arithmetic and must not be shown."""


def did_you_mean(name: str, known: Iterable[str], count: int = 3, alike: float = 0.55) -> str:
    """The nearest known names as a hint, or an empty string when nothing is near: no less `alike` by `difflib`.

    Before those that are spelled like it come those that it says more than, and those that say more: `allowed_gpus` is
    told of `gpus` and `a100` of `a100-80-sxm`, though `max_gpus` and `a10` are nearer by letters.
    """
    asked, folded = name.casefold(), {candidate.casefold(): candidate for candidate in sorted(known)}
    near = difflib.get_close_matches(asked, folded, n=max(len(folded), 1), cutoff=alike)
    nearest_first = list(dict.fromkeys((*near, *folded)))
    words = {candidate: _words(candidate) for candidate in folded}
    inside = sorted(
        (each for each in nearest_first if words[each] <= _words(asked)), key=lambda each: -len(words[each])
    )
    around = [each for each in nearest_first if words[each] > _words(asked)]
    hints = list(dict.fromkeys(folded[each] for each in (*inside, *around, *near)))[:count]
    return f"did you mean {', '.join(hints)}?" if hints else ""


def some_of(names: Sequence[str], count: int = 12) -> str:
    """The first of some names, and how many more there are."""
    rest = len(names) - count
    return ", ".join(names[:count]) + (f" and {rest} more" if rest > 0 else "")


def _words(name: str) -> set[str]:
    """Those that a name is made of."""
    return set(re.split(r"[-_ ./]+", name)) - {""}


def file_error(path: Path, problem: str, *, line: int = 0, field: str = "", hint: str = "") -> InputError:
    """The one problem of a file, where it stands in it."""
    return InputError([Finding(str(path), line, field, problem, hint)])
