"""Plans of earlier runs to compare with: the fields that matter, since other versions wrote them, and their pairing."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from optimizer.answers.planning.until_it_holds import MOST_ROUNDS
from optimizer.inputs.scenario.policy import InForce
from optimizer.plan.record.fields import Outcome
from optimizer.plan.record.origin import PlanInputs


class Lenient(BaseModel):
    """A record of which only these fields matter."""

    model_config = ConfigDict(extra="ignore", frozen=True)


Money = Annotated[Decimal, Field(ge=0, le=10**12, allow_inf_nan=False)]
"""US dollars of a month or an hour; more than all the world's machines cost is a slip."""
Amount = Annotated[float, Field(ge=0, le=10**18, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=10**9)]


class GateReplicas(Lenient):
    """Replicas of a deployment in a period."""

    period: Count
    replicas: Count


class GateDeployment(Lenient):
    """A deployment as any plan writes it."""

    workload: str
    model: str
    provider: str
    region: str
    instance_type: str
    pricing_term: str
    gpu: str
    gpus_per_replica: Count
    engine: str
    precision: str
    kv_precision: str
    speculation: str = ""
    replicas: Count
    monthly_cost_usd: Money
    pool: str = ""
    commitment_months: Count = 0
    gpus_per_instance: Count = 0
    tensor_parallel: Count = 0
    pipeline_parallel: Count = 0
    instances: Count = 0
    price_usd_per_hour: Money | None = None
    """None in plans of versions that did not record it here."""
    schedule: tuple[GateReplicas, ...] = ()

    @property
    def offer(self) -> str:
        """The id of the offer that it runs on."""
        term = f"{self.pricing_term}-{self.commitment_months}m" if self.commitment_months else self.pricing_term
        return f"{self.provider}/{self.region}/{self.instance_type}/{self.gpus_per_instance}x{self.gpu}/{term}"


class GateInstances(Lenient):
    """Instances of an offer that run in a period."""

    period: Count
    instances: Count


class GatePeriod(Lenient):
    """Hours that are planned alike."""

    period: Count
    hours_per_month: Amount


class GatePurchase(Lenient):
    """Instances of an offer as a plan pays for them."""

    offer: str
    price_usd_per_hour: Money
    storage_usd_per_hour: Money = Decimal(0)
    instance_hours_per_month: Amount
    monthly_cost_usd: Money
    schedule: tuple[GateInstances, ...] = ()


class GateApiUse(Lenient):
    """Requests sent to a hosted API."""

    api: str
    provider: str
    workload: str
    request_class: str
    model: str
    requests_per_month: Amount
    monthly_cost_usd: Money
    usd_per_request: Money
    paid_by: str = "request"

    @property
    def name(self) -> str:
        """Of the API, with its provider."""
        return f"{self.provider}/{self.api}"


class GateMigration(Lenient):
    """What it costs once to change to the plan."""

    one_time_cost_usd: Money


class GateCosts(Lenient):
    """The bill by kind; the others are parts of these."""

    compute_usd: Money
    storage_usd: Money | None = None
    egress_usd: Money | None = None
    serverless_usd: Money = Decimal(0)
    migration_usd: Money = Decimal(0)


class GateSimplicity(Lenient):
    """Whether no simpler plan is near, and whether the search for the cheapest ended since it is near enough."""

    proven: bool
    enough: bool = False


class GateSimulation(Lenient):
    """What simulated requests said of the plan and of those before it."""

    holds: bool | None
    rounds: tuple[JsonValue, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether no limit can have cut its rounds short: the plan holds, or as many were tried as ever are."""
        return self.holds is True or len(self.rounds) >= MOST_ROUNDS


class GatePlan(Lenient):
    """What runs and what it costs: a plan as far as two plans can be compared."""

    schema_version: int
    scenario: str
    outcome: Outcome
    monthly_cost_usd: Money | None
    deployments: tuple[GateDeployment, ...]
    purchases: tuple[GatePurchase, ...] = ()
    hosted: tuple[GateApiUse, ...] = ()
    periods: tuple[GatePeriod, ...] = ()
    migration: GateMigration | None = None
    costs: GateCosts | None = None
    simplicity: GateSimplicity | None = None
    simulation: GateSimulation | None = None
    """None without a plan, and where the time was up."""
    inputs: PlanInputs | None = None
    """None in plans of versions that did not record them."""

    @property
    def proven(self) -> bool:
        """Whether every search for it came to its end, so that the same inputs give the same plan."""
        simple = self.simplicity is None or self.simplicity.proven
        came_to_its_end = self.ended_simply or (self.outcome == "optimal" and simple)
        return came_to_its_end and self.simulation is not None and self.simulation.ended

    @property
    def ended_simply(self) -> bool:
        """Whether the search for the cheapest ended since no plan costs so much less that this one is not shown."""
        return self.simplicity is not None and self.simplicity.enough


@dataclass(frozen=True)
class Baseline:
    """A plan and the file it stands in."""

    file: str
    plan: GatePlan

    @property
    def named(self) -> str:
        """The file as outputs name it: outside the working folder, where pipelines keep it under a name of the day, by
        its own name and its folder's alone."""
        path = Path(self.file)
        given = not path.is_absolute() or path.is_relative_to(Path.cwd())
        return self.file if given else f"{path.parent.name}/{path.name}"

    @property
    def usd(self) -> Decimal:
        """Of a month; a baseline without a plan cost nothing."""
        return self.plan.monthly_cost_usd or Decimal(0)

    @property
    def running(self) -> tuple[InForce, ...]:
        """What its plan runs, replicas alike added up; nothing where its version did not record how it is laid out."""
        deployments = self.plan.deployments
        if not all(d.gpus_per_instance and d.tensor_parallel and d.pipeline_parallel for d in deployments):
            return ()
        counts = Counter[tuple[tuple[str, str | int], ...]]()
        for d in deployments:
            named = d.model_dump(include=set(InForce.model_fields) - {"replicas"})
            counts[tuple(sorted(named.items()))] += d.replicas
        return tuple(InForce.model_validate({**dict(key), "replicas": count}) for key, count in sorted(counts.items()))


def paired(names: Sequence[str], baselines: Sequence[Baseline]) -> tuple[dict[str, Baseline], tuple[Baseline, ...]]:
    """Each scenario's baseline by the scenario's name, and the baselines that no scenario claims.

    One scenario and one baseline belong together whatever they are called: renaming is a change like any other.
    """
    if len(names) == len(baselines) == 1:
        return {names[0]: baselines[0]}, ()
    by_name = {baseline.plan.scenario: baseline for baseline in baselines}
    claimed = {name: by_name[name] for name in names if name in by_name}
    return claimed, tuple(each for name, each in by_name.items() if name not in claimed)
