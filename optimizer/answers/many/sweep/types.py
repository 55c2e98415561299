"""What a sweep asks and answers: a run for each question, a row for each run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from optimizer.base.model import Strict
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.record.fields import Figure, Outcome, Usd

SCHEMA_VERSION: Final = 1


@dataclass(frozen=True)
class SweepRun:
    """One question of a sweep.

    Attributes:
        key: Hash of all that decides its answer: the program, the scenario and what the catalogs hold.
        inputs: The values of this run by the path that they were set at.
        scenario: What is asked with them.
        catalogs: What it is asked of, a name in `SweepRuns.catalogs`.
        predictions: Runs that agree in this are predicted by the same configurations at the same rates.
        levels: Runs that agree in this, too, need not be judged again by their service levels.
    """

    key: str
    inputs: Mapping[str, JsonValue]
    scenario: Scenario
    catalogs: str
    predictions: str
    levels: str


@dataclass(frozen=True)
class SweepRuns:
    """Every question of a sweep, in the order in which it lists them.

    Attributes:
        scenario: The name of the scenario that is varied.
        varied: The paths that are set, in the order of the file.
        runs: The questions.
        catalogs: What is known, by the name that runs call it.
    """

    scenario: str
    varied: tuple[str, ...]
    runs: tuple[SweepRun, ...]
    catalogs: Mapping[str, Catalogs]


@dataclass(frozen=True)
class RunLimits:
    """Where the search of each run ends: after so many simplex iterations, seconds or GB; None for no such limit."""

    work_limit: int | None = None
    time_limit_s: float | None = None
    max_memory_gb: float | None = None


class SweepRow(Strict):
    """The answer to one run, a line of `results.jsonl`."""

    key: str
    """Hash of what was asked: the program, the scenario with its files and what the catalogs hold."""
    inputs: dict[str, JsonValue]
    """The values of this run, by path."""
    outcome: Outcome
    monthly_cost_usd: Usd | None = None
    """Of the plan that `optimizer plan` shows for this scenario."""
    cheapest_usd: Usd | None = None
    """Of the cheapest plan, what the outcome and the gap speak of."""
    relative_gap: Figure | None = None
    proven: bool = False
    """Whether every search came to its end, so that no larger limit changes the row."""
    work_limit: int | None = None
    """The limit in force where that is not so."""
    holds: bool | None = None
    """Whether all promises hold in simulated requests; None where there is no plan or nobody could tell."""
    plan: str = ""
    """What is bought, in a phrase."""
    providers: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    total_gpus: int | None = None
    replicas: int | None = None
    reason: str = ""
    """Why there is no answer, where the run failed."""


class SweepReport(Strict):
    """The whole answer to `optimizer sweep`."""

    schema_version: int = SCHEMA_VERSION
    scenario: str
    summary: str
    varied: tuple[str, ...]
    """The paths that are set."""
    cheapest: tuple[int, ...]
    """Positions in `rows` of the runs with the least monthly cost."""
    rows: tuple[SweepRow, ...]
    """In the order of the sweep file: of a product, the last path changes first."""
