"""What a declaration of a requirement says: plain data that bounds, search, explanation and ways out read."""

from dataclasses import dataclass
from typing import Literal

Value = float | str | tuple[str, ...]

Sense = Literal["at_most", "at_least", "admits", "promise"]
"""Which side of its limit a plan must keep to; what it admits to the plan; or what else must hold or be paid for."""

Trait = Literal["provider", "region", "spot", "power", "carbon", "quotas", "loss", "configuration", "engine"]
"""What two offers, or two candidates, must have in common before one may replace the other."""


@dataclass(frozen=True)
class Step:
    """How a number is moved by one natural step, and how far it may go.

    Attributes:
        kind: By a tenth of itself, by a fixed size, by whole numbers, or to the next value at which a candidate falls
            out or comes in.
        size: Of a step of fixed size.
        strictest, loosest: Where the range ends; None where nothing but the direction of the number ends it.
        reach: Factor up to which ways out loosen a number that moves by ratio.
    """

    kind: Literal["ratio", "fixed", "whole", "floors"]
    size: float = 1.0
    strictest: float | None = None
    loosest: float | None = None
    reach: float = 4096.0


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """One thing that a scenario may ask.

    Attributes:
        name: Short and unique; limits of the purchase problem and criteria of candidates go by it.
        field: Path in the scenario's schema, `workloads[]` standing for each workload.
        also: Other fields that ask the same in another form.
        sense: Which gives slack its one sign.
        sentence: What a plan that keeps it does.
        label: What the number is called where it is moved; of a workload's number, behind the workload's name.
        unit: Of the value, empty for names and bare counts.
        without: The value that asks nothing; None removes the field, which then has its default.
        waivable: Whether doing without it is a way out; the demand is not given up.
        step: How the number is moved; None for what is no number.
        decides: What must be worked out anew when it changes: how fast candidates must be, which candidates there are,
            which offers are admitted, or only the limits and numbers of the purchase problem.
        over: What it adds up over: each deployment, each workload, or the whole fleet.
        scope: Whether it can be judged period by period, on all that ever runs, of which each period alone keeps it,
            too, over the month, or on the plan as a whole.
        compares_offers_by, compares_candidates_by: What must not change where one replaces another under it.
        opens: Whether lifting it opens a whole kind of offer and leaves somebody's list of names as it is.
        only_with: Fields without any of which it asks nothing, or where it `prefers` something, that asks nothing.
        prefers: The values that ask nothing of a plan where none keeps to them; see `avoided`.
        promise: What being without it is called, where it buys safety or order.
        promised_as: The field whose removal prices the promise, where that is not its own.
    """

    name: str
    field: str
    sense: Sense
    sentence: str
    also: tuple[str, ...] = ()
    label: str = ""
    unit: str = ""
    without: Value | bool | None = None
    waivable: bool = True
    step: Step | None = None
    decides: Literal["levels", "candidates", "offers", "fleet"] = "fleet"
    over: Literal["deployment", "workload", "fleet"] = "fleet"
    scope: Literal["period", "ever", "month", "plan"] = "period"
    compares_offers_by: tuple[Trait, ...] = ()
    compares_candidates_by: tuple[Trait, ...] = ()
    opens: bool = False
    only_with: tuple[str, ...] = ()
    prefers: tuple[str, ...] = ()
    promise: str = ""
    promised_as: str = ""

    @property
    def of_workload(self) -> bool:
        """Whether each workload asks it for itself."""
        return self.field.startswith("workloads[]")

    def path(self, workload: str) -> str:
        """The field of one workload; the policy's fields have no other name."""
        return self.field.replace("[]", f"[{workload}]", 1)
