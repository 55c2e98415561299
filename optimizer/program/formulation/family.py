"""What a constraint family is: rows with a name, a unit, what they say and how bounds take them in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from optimizer.inputs.requirements.registry import BY_NAME
from optimizer.program.formulation.rows import Rows
from optimizer.program.formulation.variables import Variables
from optimizer.program.problem.problem import Problem


@dataclass(frozen=True, kw_only=True)
class Family:
    """A constraint family.

    Attributes:
        name: Prefix of its row names.
        algebra: What it says in plain algebra.
        unit: Unit of its slack.
        rows: Its rows.
        requirement: Name of what the scenario asks by it; empty where only other hardware would loosen it.
        says: What it says, for people, where no requirement says so.
        used_when: Whether a problem uses it, where more than a limit decides; a family that is not used adds nothing.
        charges: What the dual price of its rows falls on in a bound; None where the bound takes it in otherwise.
        in_relaxation: Whether the relaxation keeps it; those that need yes-or-no decisions or link periods are left
            out there, which can only lower the cost, and the budget is, of which the bound itself tells.
    """

    name: str
    algebra: str
    unit: str
    rows: Callable[[Problem, Variables], Rows]
    requirement: str = ""
    says: str = ""
    used_when: Callable[[Problem], bool] | None = None
    charges: Literal["instances", "replicas", "flow"] | None = None
    in_relaxation: bool = True

    @property
    def sentence(self) -> str:
        """What it says, for people."""
        return BY_NAME[self.requirement].sentence if self.requirement else self.says

    @property
    def field(self) -> str:
        """The scenario field that loosens it; empty where none does."""
        return BY_NAME[self.requirement].field if self.requirement else ""

    def active(self, problem: Problem) -> bool:
        """Whether the problem uses it."""
        if self.used_when is not None:
            return self.used_when(problem)
        return self.requirement in problem.limits.names_in_force
