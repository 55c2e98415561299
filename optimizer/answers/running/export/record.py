"""What a deployment of a plan runs, worked out once for every target, and what an export consists of."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from optimizer.answers.bill import BillLine
from optimizer.inputs.catalog.entries.deploying import Setting
from optimizer.inputs.catalog.kinds import SPOT
from optimizer.inputs.scenario.policy import Router


class CannotCarry(Exception):
    """A target has no way to say a deployment; the message says why, in one clause."""


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint that is loaded.

    Attributes:
        hf_id: Its name on Hugging Face.
        quantized_on_load: Whether the engine makes the planned precision of it when it starts.
        download_gb: What is downloaded, decimal GB.
        others: Checkpoints of the same precision that were not chosen.
        remark: What to know before relying on it; empty where there is nothing.
    """

    hf_id: str
    quantized_on_load: bool
    download_gb: float
    others: tuple[str, ...] = ()
    remark: str = ""


@dataclass(frozen=True)
class Machine:
    """The instance that replicas stand on, as the plan rents it."""

    provider: str
    region: str
    instance_type: str
    pricing_term: str
    gpu: str
    vendor: str
    gpus: int
    price_usd_per_hour: Decimal
    rented_usd_per_hour: Decimal | None
    """At list price, what a tool pays that rents it without a term: on spot where the plan does, else on demand; None
    where nobody lists it."""
    on_demand_usd_per_hour: Decimal | None
    """At list price on demand; None where nobody lists it."""
    bought: int
    """Instances of this offer, for all deployments on it."""
    bought_with: tuple[str, ...]
    """The other deployments on it, which may stand on the same instances."""

    @property
    def spot(self) -> bool:
        """Whether the provider may take it back."""
        return self.pricing_term == SPOT


@dataclass(frozen=True)
class Hours:
    """Hours of the week that are planned alike, Monday 0 h first, first and last included.

    Attributes:
        ranges: Of hours 0 to 167.
        replicas: That run.
        share: Of the workload's requests, that the deployment is sent.
    """

    ranges: tuple[tuple[int, int], ...]
    replicas: int
    share: float


@dataclass(frozen=True)
class ServerSetup:
    """What one replica is started with.

    Attributes:
        model_name: The model as the scenario asks it, by its name on Hugging Face.
        served_name: What clients call it.
        checkpoint: What is loaded.
        engine: Its id in the catalogs.
        command: What starts the server, without flags.
        image: The engine's container image; None where nobody read one for this vendor of GPU.
        metric: The gauge of requests that run in a replica; None where nobody read its name.
        flags: Setting → the words that tell the engine, in the order in which they are written; settings of which
            the engine need not be told are left out.
        config: Content of the configuration file that the engine is given; empty where it needs none.
        gpus: Of one replica, all on one machine.
    """

    model_name: str
    served_name: str
    checkpoint: Checkpoint
    engine: str
    engine_name: str
    engine_version: str
    command: tuple[str, ...]
    image: str | None
    metric: str | None
    flags: Mapping[Setting, tuple[str, ...]]
    config: Mapping[str, object]
    gpus: int
    tensor_parallel: int
    pipeline_parallel: int
    precision: str
    kv_precision: str
    speculation: str
    """The draft, `METHOD:TOKENS`; empty without one."""

    @property
    def port(self) -> int:
        """On which it answers."""
        return int(self.flags["port"][-1])

    def arguments(self, *left_out: Setting) -> list[str]:
        """The flags, but for those settings that the target says in its own way."""
        return [word for setting, words in self.flags.items() if setting not in left_out for word in words]


@dataclass(frozen=True)
class ReplicaLoad:
    """What a deployment is sent, and how many replicas take it.

    Attributes:
        schedule: Replicas by hour, one entry where they never change.
        sustainable_per_s: Requests/s that a replica sustains within the limits of this mix of requests.
        target_per_s: The same at the utilization that the policy allows: what one more replica starts at.
        concurrency: Requests in flight in a replica at the planned load.
        weight: Share of the workload's requests that it is sent when they are most.
        shares: Of each request class that it is sent then, the share that goes here.
    """

    schedule: tuple[Hours, ...]
    sustainable_per_s: float
    target_per_s: float
    concurrency: float
    weight: float
    shares: Mapping[str, float]

    @property
    def min_replicas(self) -> int:
        """In the quietest hour."""
        return min(item.replicas for item in self.schedule)

    @property
    def max_replicas(self) -> int:
        """In the busiest hour."""
        return max(item.replicas for item in self.schedule)

    @property
    def scales(self) -> bool:
        """Whether the number of replicas changes over the week."""
        return self.min_replicas < self.max_replicas


@dataclass(frozen=True)
class Run:
    """What a deployment runs.

    Attributes:
        name: Unique in the plan; a DNS label.
        workload: Whose requests it serves; `pool` says which of them where it is not sent all kinds.
        workload_label: The same as a DNS label.
        instances: At most at once.
        disk_gb: To ask for with an instance.
        monthly_usd: Expected bill.
        router: What the plan counts on to send requests to replicas.
        remarks: What to know before relying on the files.
    """

    name: str
    plan_id: str
    scenario: str
    workload: str
    workload_label: str
    pool: str
    server: ServerSetup
    machine: Machine
    load: ReplicaLoad
    instances: int
    disk_gb: int
    monthly_usd: Decimal
    router: Router
    remarks: tuple[str, ...]

    @property
    def replicas_per_machine(self) -> int:
        """As many as stand on one machine where it is full."""
        return min(self.machine.gpus // self.server.gpus, self.load.max_replicas)


@dataclass(frozen=True)
class LeftOut:
    """Something of the plan that a target, or every target, does not carry.

    Attributes:
        what: The deployment or hosted API.
        target: Empty where no target carries it.
        reason: Why, in one clause, with the way out where there is one.
    """

    what: str
    target: str
    reason: str


@dataclass(frozen=True)
class PlannedBill:
    """What a plan is expected to be billed in a month.

    Attributes:
        month: Its first day; a plan's month is an average one, whatever month is named.
        lines: Each thing to pay for; together the plan's month, to the cent.
    """

    month: date
    lines: tuple[BillLine, ...]


@dataclass(frozen=True)
class Export:
    """What an export consists of.

    Attributes:
        plan_id: Of the plan.
        scenario: Its name.
        monthly_usd: What the whole plan is expected to cost.
        runs: Every deployment that can be run.
        targets: Tools that deploy, as asked.
        files: Path under the output folder → content; the README is not among them.
        left_out: What is not carried, and why.
        bill: Where it was asked for.
    """

    plan_id: str
    scenario: str
    monthly_usd: Decimal
    runs: tuple[Run, ...]
    targets: tuple[str, ...]
    files: Mapping[str, str]
    left_out: tuple[LeftOut, ...]
    bill: PlannedBill | None = None
