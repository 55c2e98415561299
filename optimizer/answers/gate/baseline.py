"""Plans of earlier runs to compare with: read leniently, for other versions wrote them, and paired with scenarios."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from optimizer.base.errors import Finding, InputError
from optimizer.inputs.scenario.policy import InForce
from optimizer.plan.record.fields import Outcome
from optimizer.plan.record.origin import PlanInputs

WRITTEN_BY: Final = "write it with optimizer plan SCENARIO --format json --output FILE"

NOT_HERE: Final = (
    f"{WRITTEN_BY}; if it is committed, the clone may lack it: check out with fetch-depth: 0; a first gate needs none"
)


class Lenient(BaseModel):
    """A record of which only these fields matter."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class GateDeployment(Lenient):
    """A deployment as any plan writes it."""

    workload: str
    model: str
    provider: str
    region: str
    instance_type: str
    pricing_term: str
    gpu: str
    gpus_per_replica: int
    engine: str
    precision: str
    kv_precision: str
    replicas: int
    monthly_cost_usd: Decimal
    pool: str = ""
    commitment_months: int = 0
    gpus_per_instance: int = 0
    tensor_parallel: int = 0
    pipeline_parallel: int = 0


class GatePurchase(Lenient):
    """Instances of an offer as a plan pays for them."""

    offer: str
    price_usd_per_hour: Decimal
    instance_hours_per_month: float


class GateApiUse(Lenient):
    """Requests sent to a hosted API."""

    api: str
    provider: str
    workload: str
    request_class: str
    model: str
    requests_per_month: float
    monthly_cost_usd: Decimal
    usd_per_request: Decimal

    @property
    def name(self) -> str:
        """Of the API, with its provider."""
        return f"{self.provider}/{self.api}"


class GatePlan(Lenient):
    """What runs and what it costs: a plan as far as two plans can be compared."""

    scenario: str
    outcome: Outcome
    monthly_cost_usd: Decimal | None
    deployments: tuple[GateDeployment, ...]
    purchases: tuple[GatePurchase, ...] = ()
    hosted: tuple[GateApiUse, ...] = ()
    inputs: PlanInputs | None = None
    """None in plans of versions that did not record them."""


@dataclass(frozen=True)
class Baseline:
    """A plan and the file it stands in."""

    file: str
    plan: GatePlan

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


def read_baselines(paths: Iterable[Path]) -> tuple[Baseline, ...]:
    """Plans of before.

    Args:
        paths: Files of `optimizer plan --format json`, and folders of them.

    Returns:
        The plans with their files, sorted by scenario.

    Raises:
        InputError: a file cannot be read, is not a plan, or two are of the same scenario; all problems at once.
    """
    findings: list[Finding] = []
    found: dict[str, Baseline] = {}
    for path in (each for given in paths for each in (sorted(given.glob("*.json")) if given.is_dir() else [given])):
        try:
            baseline = Baseline(str(path), GatePlan.model_validate_json(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            findings.append(Finding(str(path), 0, "", "cannot be read: there is no such file", NOT_HERE))
        except (OSError, UnicodeDecodeError) as error:
            findings.append(Finding(str(path), 0, "", f"cannot be read: {error}", WRITTEN_BY))
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"]))
            findings.append(Finding(str(path), 0, field, f"not a plan: {first['msg']}", WRITTEN_BY))
        else:
            twin = found.setdefault(baseline.plan.scenario, baseline)
            if twin is not baseline:
                problem = f"{twin.file} is a plan of the same scenario, {baseline.plan.scenario}"
                findings.append(Finding(str(path), 0, "scenario", problem, "give one baseline for each scenario"))
    if findings:
        raise InputError(findings)
    return tuple(found[name] for name in sorted(found))


def paired(names: Sequence[str], baselines: Sequence[Baseline]) -> tuple[dict[str, Baseline], tuple[Baseline, ...]]:
    """Each scenario's baseline by the scenario's name, and the baselines that no scenario claims.

    One scenario and one baseline belong together whatever they are called: renaming is a change like any other.
    """
    if len(names) == len(baselines) == 1:
        return {names[0]: baselines[0]}, ()
    by_name = {baseline.plan.scenario: baseline for baseline in baselines}
    claimed = {name: by_name[name] for name in names if name in by_name}
    return claimed, tuple(each for name, each in by_name.items() if name not in claimed)
