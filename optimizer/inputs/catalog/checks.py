"""Are the catalogs sound: prices that cannot be right, figures that nobody read, and how old everything is."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from statistics import median
from typing import Final, Literal

from optimizer.base.units import DAYS_PER_YEAR
from optimizer.inputs.catalog.kinds import OWNED
from optimizer.inputs.catalog.records import Catalogs, KernelSupport, Offer
from optimizer.inputs.catalog.usual_prices import FEWEST_FOR_A_USUAL_PRICE, per_gpu_usd

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


def check_rows(catalogs: Catalogs, *, max_age_days: int | None = None) -> tuple[CatalogFinding, ...]:
    """Whether catalogs are sound, as far as no prediction is needed.

    Args:
        catalogs: What is checked.
        max_age_days: Older prices are errors, counted back from the catalog's date; None allows any age.

    Returns:
        Every remark of every check, errors first.
    """
    found = {finding for check in CHECKS for finding in check(catalogs)}
    if max_age_days is not None:
        found.update(_expired(catalogs, max_age_days))
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
    """Prices per GPU-hour far from what providers of the same kind ask for the GPU on the same term.

    A group too small to have a usual price is held against all kinds of providers together.
    """
    groups: defaultdict[tuple[str, ...], list[Offer]] = defaultdict(list)
    for offer in catalogs.offers:
        groups[offer.gpu, offer.pricing_term, offer.provider_kind].append(offer)
        groups[offer.gpu, offer.pricing_term].append(offer)
    for group, offers in groups.items():
        if len(group) == 2:
            continue
        gpu, term, kind = group
        small = len(offers) < FEWEST_FOR_A_USUAL_PRICE
        middle = median(per_gpu_usd(offer) for offer in (groups[gpu, term] if small else offers))
        where = "" if small else f" at a {kind}"
        for offer in offers:
            price = per_gpu_usd(offer)
            if not middle / OUTLIER_FACTOR <= price <= middle * OUTLIER_FACTOR:
                text = f"{price:.2f} USD per GPU-hour, the median of {gpu} {term}{where} is {middle:.2f}"
                yield CatalogFinding("warning", "price range", offer.id, text)


def _ranges_by_gpu(catalogs: Catalogs) -> Iterator[CatalogFinding]:
    """What each GPU costs on demand: lowest, median and highest price per GPU-hour."""
    by_gpu: defaultdict[str, list[Offer]] = defaultdict(list)
    for offer in catalogs.offers:
        if offer.pricing_term == "on_demand" and offer.confidence != "seed":
            by_gpu[offer.gpu].append(offer)
    for gpu, offers in by_gpu.items():
        prices = [per_gpu_usd(offer) for offer in offers]
        sellers = len({offer.provider for offer in offers})
        text = (
            f"{min(prices):.2f} to {max(prices):.2f} USD per GPU-hour on demand, {median(prices):.2f} in the median of "
            f"{len(offers):,} offers of {sellers} providers"
        )
        yield CatalogFinding("note", "prices by GPU", gpu, text)


def _free_tokens(catalogs: Catalogs) -> Iterator[CatalogFinding]:
    """Hosted prices of zero: a promotion, or a price that nobody filled in."""
    for price in catalogs.serverless:
        columns = (name for name in type(price).model_fields if name.startswith("usd_per_"))
        free = [name for name in columns if getattr(price, name) == 0]
        if free:
            subject = f"{price.provider}/{price.provider_model_name}"
            yield CatalogFinding("warning", "zero price", subject, f"{', '.join(free)} is 0")


def _repeated_prices(catalogs: Catalogs) -> Iterator[CatalogFinding]:
    """Offers that differ from another only by the spelling of a name."""
    by_case = Counter(offer.id.casefold() for offer in catalogs.offers)
    by_spelling = Counter(_spelled(offer) for offer in catalogs.offers)
    for offer in catalogs.offers:
        if by_case[offer.id.casefold()] > 1:
            yield CatalogFinding("error", "duplicates", offer.id, "another offer differs by upper and lower case only")
        elif by_spelling[_spelled(offer)] > 1:
            text = "another offer has the same price and differs by signs in its name only"
            yield CatalogFinding("warning", "duplicates", offer.id, text)


def _spelled(offer: Offer) -> tuple[str, Decimal]:
    return "".join(sign for sign in offer.id.casefold() if sign.isalnum()), offer.price_usd_per_hour


def _expired(catalogs: Catalogs, max_age_days: int) -> Iterator[CatalogFinding]:
    for offer in catalogs.offers:
        age_days = (catalogs.as_of - offer.as_of).days
        if age_days > max_age_days:
            text = f"the price is {age_days} days old, {max_age_days} are allowed"
            yield CatalogFinding("error", "age", offer.id, text)


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


def _places(catalogs: Catalogs) -> Iterator[CatalogFinding]:
    """Offers whose country nobody recorded: a plan that may use certain countries only leaves them out."""
    unplaced: defaultdict[str, list[str]] = defaultdict(list)
    for offer in catalogs.offers:
        if not catalogs.terms.place(offer.provider, offer.region):
            unplaced[offer.provider].append(offer.region)
    for provider, regions in unplaced.items():
        names = ", ".join(sorted(set(regions)))
        yield CatalogFinding("note", "places", provider, f"country not known of {len(regions)} offers in {names}")


def _sellers(catalogs: Catalogs) -> Iterator[CatalogFinding]:
    """Providers that plans leave out by default: nobody read what kind of seller they are, or their terms forbid it."""
    counts = Counter((offer.provider, offer.provider_kind) for offer in catalogs.offers if offer.provider != OWNED)
    for (provider, provider_kind), offers in counts.items():
        seller = catalogs.terms.seller(provider, provider_kind)
        if seller is None:
            text = f"sellers.csv does not say who sells {offers} offers; plans leave them out by default"
            yield CatalogFinding("warning", "sellers", provider, text)
        elif seller.serves_others == "no":
            text = f"its terms forbid serving others; no plan takes its {offers} offers"
            yield CatalogFinding("note", "sellers", provider, text)


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
    _ranges_by_gpu,
    _free_tokens,
    _repeated_prices,
    _ages,
    _figures,
    _links,
    _places,
    _sellers,
    _kernels,
)
"""Instances that cost nothing never get this far: an offer refuses them when it is read."""
