"""Are the catalogs sound: prices that cannot be right, figures that nobody read, and how old everything is."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from statistics import median
from typing import Final, Literal

from optimizer.base.units import DAYS_PER_YEAR
from optimizer.inputs.catalog import Catalogs, KernelSupport, Offer

Severity = Literal["error", "warning", "note"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "note")

OUTLIER_FACTOR: Final = 5
"""A price per GPU-hour this many times above or below the median of its GPU, term and kind of provider is named."""

PEAK_OF_COMPUTE: Final = {
    "bf16": "bf16_tflops",
    "fp16": "fp16_tflops",
    "fp8": "fp8_tflops",
    "int8": "int8_tops",
    "fp4": "fp4_tflops",
}
"""Which figure of a GPU a native kernel runs at."""


@dataclass(frozen=True)
class CatalogFinding:
    """One remark on the catalogs.

    Attributes:
        severity: error: a plan on it would be wrong; warning: look at it; note: good to know.
        check: Which check speaks.
        subject: The row or the catalog it is about.
        text: What there is to say, in one clause.
    """

    severity: Severity
    check: str
    subject: str
    text: str

    @property
    def rank(self) -> tuple[int, str, str, str]:
        """Sorts errors first, then by check and subject."""
        return SEVERITIES.index(self.severity), self.check, self.subject, self.text


def check_catalogs(catalogs: Catalogs) -> tuple[CatalogFinding, ...]:
    """Every remark of every check, errors first."""
    found = {finding for check in CHECKS for finding in check(catalogs)}
    return tuple(sorted(found, key=lambda finding: finding.rank))


def _discounts(catalogs: Catalogs) -> Iterator[CatalogFinding]:
    """A spot or committed price is never above the on-demand price of the same instance in the same region."""
    on_demand = {_instance(offer): offer for offer in catalogs.offers if offer.pricing_term == "on_demand"}
    for offer in catalogs.offers:
        full = on_demand.get(_instance(offer))
        if full is None or offer.price_usd_per_hour <= full.price_usd_per_hour:
            continue
        text = f"{offer.price_usd_per_hour} USD/h is above on-demand {full.price_usd_per_hour} of {full.as_of}"
        severity: Severity = "error" if offer.as_of == full.as_of else "warning"
        yield CatalogFinding(severity, "discounts", offer.id, text)


def _instance(offer: Offer) -> tuple[str, str, str, str, int]:
    return offer.provider, offer.region, offer.instance_type, offer.gpu, offer.gpu_count


def _price_range(catalogs: Catalogs) -> Iterator[CatalogFinding]:
    """Prices per GPU-hour far from what providers of the same kind ask for the GPU on the same term."""
    groups: defaultdict[tuple[str, str, str], list[Offer]] = defaultdict(list)
    for offer in catalogs.offers:
        groups[offer.gpu, offer.pricing_term, offer.provider_kind].append(offer)
    for (gpu, term, kind), offers in groups.items():
        middle = median(_per_gpu(offer) for offer in offers)
        for offer in offers:
            price = _per_gpu(offer)
            if not middle / OUTLIER_FACTOR <= price <= middle * OUTLIER_FACTOR:
                text = f"{price:.2f} USD per GPU-hour, the median of {gpu} {term} at a {kind} is {middle:.2f}"
                yield CatalogFinding("warning", "price range", offer.id, text)


def _per_gpu(offer: Offer) -> Decimal:
    return offer.price_usd_per_hour / offer.gpu_count


def _repeated_prices(catalogs: Catalogs) -> Iterator[CatalogFinding]:
    """Instances that differ from another only by the spelling of their name."""
    names = Counter(offer.id.casefold() for offer in catalogs.offers)
    for offer in catalogs.offers:
        if names[offer.id.casefold()] > 1:
            yield CatalogFinding("error", "duplicates", offer.id, "another offer differs by upper and lower case only")


def _ages(catalogs: Catalogs) -> Iterator[CatalogFinding]:
    """Median and oldest age of the prices, and how many are over a year old, by confidence."""
    for confidence in ("listed", "derived", "seed"):
        offers = [offer for offer in catalogs.offers if offer.confidence == confidence]
        if not offers:
            continue
        ages = [(catalogs.as_of - offer.as_of).days for offer in offers]
        over = sum(age > DAYS_PER_YEAR for age in ages)
        text = (
            f"{len(ages):,} prices, {median(ages):.0f} days old in the median, the oldest {max(ages)}, "
            f"{over:,} over a year (on {catalogs.as_of})"
        )
        yield CatalogFinding("note", "age", f"{confidence} offers", text)
        for offer in offers:
            if offer.as_of > catalogs.as_of:
                text = f"dated {offer.as_of}, after the catalog's own {catalogs.as_of}"
                yield CatalogFinding("warning", "age", offer.id, text)


def _figures(catalogs: Catalogs) -> Iterator[CatalogFinding]:
    """GPUs some figures of which were recalled or derived instead of read."""
    for status in ("recalled", "derived"):
        names: defaultdict[str, list[str]] = defaultdict(list)
        for figure in catalogs.gpu_figures:
            if figure.status == status:
                names[figure.gpu].append(figure.figure)
        for gpu, figures in names.items():
            yield CatalogFinding("note", f"{status} figures", gpu, ", ".join(sorted(figures)))


def _links(catalogs: Catalogs) -> Iterator[CatalogFinding]:
    """Instances with several GPUs of which nobody says how they are joined."""
    for offer in catalogs.offers:
        if offer.gpu_count > 1 and offer.link is None:
            text = f"{offer.gpu_count} GPUs and no word on the link between them"
            yield CatalogFinding("warning", "links", offer.id, text)


def _kernels(catalogs: Catalogs) -> Iterator[CatalogFinding]:
    """Native kernels on a GPU without the peak they would run at, and combinations that nobody lists."""
    for gpu in catalogs.gpus.values():
        for scheme in catalogs.schemes.values():
            row: KernelSupport | None = catalogs.kernel_support.get((scheme.id, gpu.architecture))
            if row is None:
                text = f"kernel_support.csv has no row for {scheme.id} on {gpu.architecture}"
                yield CatalogFinding("error", "kernels", gpu.id, text)
            elif row.support == "native" and getattr(gpu, PEAK_OF_COMPUTE[scheme.compute]) is None:
                text = f"{scheme.id} is native on {gpu.architecture} but {PEAK_OF_COMPUTE[scheme.compute]} is missing"
                yield CatalogFinding("error", "kernels", gpu.id, text)


CHECKS: Final[tuple[Callable[[Catalogs], Iterator[CatalogFinding]], ...]] = (
    _discounts,
    _price_range,
    _repeated_prices,
    _ages,
    _figures,
    _links,
    _kernels,
)
"""Prices of zero never get this far: an offer refuses them when it is read."""
