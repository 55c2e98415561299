"""A price list made offers of ours: GPUs by recorded names, zero prices refused, and everything left out counted."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from optimizer.answers.catalog.api_prices import import_api_prices
from optimizer.answers.catalog.imported import (
    NOTHING_MORE,
    ImportedPrices,
    PriceListTerms,
    PriceRefused,
    check_names,
    left_out_prices,
    new_sources,
    newer_day,
)
from optimizer.base.errors import Finding, did_you_mean, refuse
from optimizer.base.figures import figure
from optimizer.base.signs import look
from optimizer.inputs.catalog.entries.quantities import LEAST_USD_PER_HOUR, MOST_GPUS, MOST_USD_PER_HOUR
from optimizer.inputs.catalog.entries.terms import Seller
from optimizer.inputs.catalog.kinds import ProviderKind
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.importing.api_prices import API_FORMATS
from optimizer.inputs.importing.names import Names, folded, names_of
from optimizer.inputs.importing.price_lists import Listed, read_price_list

COMMITMENT_MONTHS: Final = {"reserved_1y": "12", "reserved_3y": "36"}
"""What a term's name already says."""
OLDER: Final = "older than another price of it"


def import_prices(
    path: Path, catalogs: Catalogs, terms: PriceListTerms = NOTHING_MORE, format_name: str | None = None
) -> ImportedPrices:
    """Reads a price list and says of every price what became of it.

    Args:
        path: A SkyPilot vms.csv, a gpuhunt CSV, a CSV with our own columns; or a JSON list of hosted APIs.
        catalogs: What is known.
        terms: What the list does not say of itself.
        format_name: What to read the file as; else told by the headings, or by the content.

    Returns:
        The offers or prices of APIs, the sources that are new with them, and what was left out and why.

    Raises:
        InputError: the file is no price list; or source, day, provider are neither in the file nor in `terms`.
    """
    if format_name in API_FORMATS or (format_name is None and path.suffix.casefold() == ".json"):
        return import_api_prices(path, catalogs, terms, format_name)
    chosen, listed = read_price_list(path, format_name)
    _check_terms(path, listed, terms, catalogs)
    names = names_of(catalogs)
    read: list[tuple[Offer, int]] = []
    known = {look(name): name for offer in catalogs.offers for name in _names(offer)}
    refused: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
    for price in listed:
        try:
            offer = _offer(price, names, terms)
            _check_names(offer, known)
            read.append((offer, price.line))
        except PriceRefused as problem:
            refused[problem.reason].append(price.line)
    offers: list[Offer] = []
    newest = _newest_days(offer for offer, _ in read)
    for offer, line in read:
        if offer.as_of == newest[offer.id]:
            offers.append(offer)
        else:
            refused[OLDER, offer.id, ""].append(line)
    kept = _joined(offers)
    return ImportedPrices(
        format_name=chosen.name,
        prices=len(listed),
        offers=kept,
        sources=new_sources(kept, catalogs, terms, path),
        sellers=_new_sellers(kept, catalogs, terms),
        merged=len(offers) - len(kept),
        left_out=left_out_prices(refused),
        remarks=tuple(Counter(price.remark for price in listed if price.remark).most_common()),
        day=newer_day(kept, catalogs),
    )


def _check_terms(path: Path, listed: Iterable[Listed], terms: PriceListTerms, catalogs: Catalogs) -> None:
    """Whatever some row does not say must have been said by an option."""
    given = {"source": terms.source, "as_of": terms.as_of, "provider": terms.provider}
    findings = [
        Finding(str(path), 0, f"--{name.replace('_', '-')}", "the file does not say it", "give this option")
        for name, value in given.items()
        if not value and any(name not in each.cells for each in listed)
    ]
    findings += [
        Finding("--gpu", 0, "", f"unknown gpu '{gpu}'", did_you_mean(gpu, catalogs.gpus))
        for gpu in terms.gpus.values()
        if gpu not in catalogs.gpus
    ]
    refuse(findings)


def _offer(price: Listed, names: Names, terms: PriceListTerms) -> Offer:
    """One price with everything that an offer needs."""
    if not price.gpu_name:
        raise PriceRefused("no GPU", "")
    provider = names.provider(price.cells.get("provider", terms.provider))
    instance_type = price.cells.get("instance_type") or price.gpu_name
    gpu = _gpu(price, names, terms, provider, instance_type)
    count = _whole_count(price)
    _check_price(price)
    cells = {
        "provider_kind": price.cells.get("provider_kind") or _kind(provider, names, terms),
        "link": names.link(gpu, count, provider, instance_type),
        "source": terms.source,
        "as_of": terms.as_of,
        "confidence": terms.confidence,
        "commitment_months": COMMITMENT_MONTHS.get(price.cells.get("pricing_term", ""), "0"),
        **price.cells,
        "provider": provider,
        "instance_type": instance_type,
        "gpu": gpu,
        "gpu_count": count,
    }
    try:
        return Offer.model_validate(cells)
    except ValidationError as error:
        first = error.errors()[0]
        about = ".".join(str(step) for step in first["loc"])
        raise PriceRefused(f"{about} cannot be read", str(first["input"])[:60]) from error


def _gpu(price: Listed, names: Names, terms: PriceListTerms, provider: str, instance_type: str) -> str:
    chosen = {folded(name): gpu for name, gpu in terms.gpus.items()}
    if folded(price.gpu_name) in chosen:
        return chosen[folded(price.gpu_name)]
    found = names.gpu(
        price.gpu_name,
        price.gpu_memory_gb,
        provider=provider,
        instance_type=instance_type,
        described=price.gpu_described,
    )
    if isinstance(found, str):
        return found
    memory = f" {figure(price.gpu_memory_gb, 4)} GB" if price.gpu_memory_gb is not None else ""
    about = f"{price.gpu_name}{memory}"
    if not found:
        raise PriceRefused("GPU not in the catalog", about, f"--gpu {price.gpu_name}=ID where ID is one of ours")
    raise PriceRefused(f"GPU may be {' or '.join(found)}", about, f"--gpu {price.gpu_name}=ID with one of these")


def _whole_count(price: Listed) -> int:
    text = price.cells.get("gpu_count", "")
    count = _number(text, "number of GPUs cannot be read")
    if count.is_finite() and count > MOST_GPUS:
        raise PriceRefused(f"more than {MOST_GPUS:,} GPUs in an instance", text)
    if not count.is_finite() or count < 1 or count % 1:
        raise PriceRefused("not a whole number of GPUs", text)
    return int(count)


def _check_price(price: Listed) -> None:
    """No price, zero, a negative number and NaN are told apart; none of them becomes an offer."""
    text = price.cells.get("price_usd_per_hour", "")
    if not text:
        raise PriceRefused("no price", price.cells.get("pricing_term", ""))
    amount = _number(text, "price cannot be read")
    if not amount.is_finite() or amount <= 0:
        raise PriceRefused("price is not above zero", text)
    if not LEAST_USD_PER_HOUR <= amount <= MOST_USD_PER_HOUR:
        raise PriceRefused(f"price is not from {LEAST_USD_PER_HOUR} to {MOST_USD_PER_HOUR:,} USD an hour", text)


def _names(offer: Offer) -> tuple[str, ...]:
    """What no other may look like: the provider, its region, the offer."""
    return offer.provider, f"{offer.provider}/{offer.region}", offer.id


def _check_names(offer: Offer, known: dict[str, str]) -> None:
    """A name that deceives the eye is refused: whoever reads the plan could not tell what it buys."""
    check_names(offer.provider, offer.region, offer.instance_type)
    for name in _names(offer):
        first = known.setdefault(look(name), name)
        if first != name:
            raise PriceRefused(f"its name looks like {first}", name, "write one name one way, or call them apart")


def _number(text: str, problem: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise PriceRefused(problem, text) from error


def _kind(provider: str, names: Names, terms: PriceListTerms) -> ProviderKind | str:
    if terms.provider_kind is not None:
        return terms.provider_kind
    kinds = names.provider_kinds.get(provider, ())
    if len(kinds) == 1:
        return kinds[0]
    reason = f"provider may be {' or '.join(kinds)}" if kinds else "provider not in the catalog"
    raise PriceRefused(reason, provider, "say --provider-kind hyperscaler, neocloud, marketplace or platform")


def _newest_days(offers: Iterable[Offer]) -> dict[str, date]:
    """The day of each offer's newest price: what it cost before is no other zone's price of today."""
    newest: dict[str, date] = {}
    for offer in offers:
        newest[offer.id] = max(offer.as_of, newest.get(offer.id, offer.as_of))
    return newest


def _joined(offers: Iterable[Offer]) -> tuple[Offer, ...]:
    """One price an offer: of several for the same region the upper median, which is one that was listed."""
    same: defaultdict[str, list[Offer]] = defaultdict(list)
    for offer in sorted(offers, key=lambda offer: (offer.id, offer.price_usd_per_hour)):
        same[offer.id].append(offer)
    return tuple(map(_upper_median, same.values()))


def _upper_median(group: Sequence[Offer]) -> Offer:
    """Of offers by price; its note says between which it lies."""
    lowest, middle, highest = group[0], group[len(group) // 2], group[-1]
    if lowest.price_usd_per_hour == highest.price_usd_per_hour:
        return middle
    prices = f"from {lowest.price_usd_per_hour} to {highest.price_usd_per_hour}"
    spread = f"median of {len(group)} listings {prices}"
    return middle.model_copy(update={"note": f"{middle.note}; {spread}" if middle.note else spread})


def _new_sellers(offers: Iterable[Offer], catalogs: Catalogs, terms: PriceListTerms) -> tuple[Seller, ...]:
    """A row for each provider that has none, as its reader knows it."""
    unknown = {o.provider: o for o in offers if catalogs.terms.seller(o.provider, o.provider_kind) is None}
    return tuple(
        Seller(
            provider=name,
            kind=terms.seller,
            whole_gpu="unknown",
            serves_others="unknown",
            source=offer.source,
            as_of=offer.as_of,
        )
        for name, offer in sorted(unknown.items())
    )
