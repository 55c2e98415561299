"""What containers with GPUs cost by the second, and how long a server of a model takes to start in one."""

from datetime import date
from decimal import Decimal
from typing import Annotated

from pydantic import Field

from optimizer.base.model import Strict
from optimizer.base.units import SECONDS_PER_HOUR
from optimizer.inputs.catalog.entries.quantities import LEAST_USD_PER_HOUR, MOST_USD_PER_HOUR, GpuCount, NonNegative
from optimizer.inputs.catalog.kinds import Confidence, ProviderKind

UsdPerSecond = Annotated[
    Decimal, Field(ge=LEAST_USD_PER_HOUR / SECONDS_PER_HOUR, le=MOST_USD_PER_HOUR / SECONDS_PER_HOUR)
]
"""Of a container's GPUs; a price of an hour in this column is out of range."""
UsdPerPartSecond = Annotated[Decimal, Field(gt=0, le=Decimal("0.01"))]
"""Of a vCPU or a GiB of memory."""


class PerSecondPrice(Strict):
    """One size of container of a seller who bills the seconds in which it starts or is up, and no others."""

    provider: str
    provider_kind: ProviderKind
    name: str
    """What the seller calls it."""
    gpu: str
    gpu_count: GpuCount = 1
    usd_per_second: UsdPerSecond
    """Of all its GPUs; of the whole container where the next two are blank."""
    usd_per_vcpu_second: UsdPerPartSecond | None = None
    usd_per_gib_second: UsdPerPartSecond | None = None
    """Of memory, like vCPUs, where it is billed apart."""
    idle_timeout_s: NonNegative | None = None
    """After its last request a container stays up so long, and is billed, unless the scenario says another time."""
    as_of: date
    source: str
    confidence: Confidence
    note: str = ""

    def usd_per_container_second(self, vcpus_per_gpu: float | None, ram_gib_per_gpu: float | None) -> Decimal | None:
        """What a second of a container costs, its processors and memory included where they are billed apart.

        None where nobody says how much is reserved of what is billed apart.
        """
        total = self.usd_per_second
        for amount, usd in ((vcpus_per_gpu, self.usd_per_vcpu_second), (ram_gib_per_gpu, self.usd_per_gib_second)):
            if usd is None:
                continue
            if amount is None:
                return None
            total += self.gpu_count * Decimal(repr(amount)) * usd
        return total


class StartUp(Strict):
    """How long a server takes from nothing to its first answer: so many seconds, and so many for a GB of weights."""

    engine: str = ""
    """Blank for all that no other row names."""
    fixed_s: NonNegative
    seconds_per_gb: NonNegative
    as_of: date
    source: str
    confidence: Confidence
    note: str = ""
