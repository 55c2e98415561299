"""Where another source asks noticeably more or less than the price that a plan takes, of instances and hosted APIs."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from optimizer.inputs.catalog.entries.terms import PriceCheck, ServerlessCheck
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.record.fleet import Hosted, PlannedFleet, Purchase

NOTABLE_DIFFERENCE: Final = 0.05
"""Between what two sources say of one price."""


def second_prices(catalogs: Catalogs, bought: PlannedFleet) -> Iterator[str]:
    """One sentence for each price of the plan of which another source says something else."""
    yield from _of_instances(catalogs, bought.purchases)
    yield from of_hosted(catalogs, bought.hosted)


def _of_instances(catalogs: Catalogs, purchases: Sequence[Purchase]) -> Iterator[str]:
    """Where another source asks noticeably more or less than the price that is planned with."""
    offers = {offer.id: offer for offer in catalogs.offers}
    for offer in (offers[purchase.offer] for purchase in purchases):
        planned = offer.price_usd_per_hour / offer.gpu_count
        for check in catalogs.terms.price_checks:
            if not check.covers(offer.provider, offer.gpu, offer.gpu_count, offer.pricing_term):
                continue
            difference = float(check.usd_per_gpu_hour / planned) - 1
            if abs(difference) > NOTABLE_DIFFERENCE:
                yield (
                    f"{offer.gpu_count}×{offer.gpu} at {offer.provider}: {_who(catalogs, check)} says "
                    f"${check.usd_per_gpu_hour:,.2f} a GPU-hour on {check.as_of}, {abs(difference):.0%} "
                    f"{'more' if difference > 0 else 'less'} than the ${planned:,.2f} planned with"
                )


def of_hosted(catalogs: Catalogs, hosted: Sequence[Hosted]) -> Iterator[str]:
    """The same for hosted APIs, by the million tokens; whichever of their prices differs most decides."""
    listed = {(row.provider, row.provider_model_name): row for row in catalogs.serverless}
    for item in (each for each in hosted if each.paid_by == "request"):
        row = listed[item.provider, item.api]
        for check in catalogs.terms.serverless_checks:
            if (check.provider, check.provider_model_name) != (item.provider, item.api):
                continue
            paid = (row.usd_per_million_input_tokens, row.usd_per_million_output_tokens)
            said = (check.usd_per_million_input_tokens, check.usd_per_million_output_tokens)
            if any(_apart(*pair) > NOTABLE_DIFFERENCE for pair in zip(paid, said, strict=True)):
                yield (
                    f"{item.api} at {item.provider}: {_who(catalogs, check)} says {_by_the_million(*said)} "
                    f"on {check.as_of}, planned with is {_by_the_million(*paid)}: have the price confirmed"
                )


def _who(catalogs: Catalogs, check: PriceCheck | ServerlessCheck) -> str:
    """Who says so, unless that is private."""
    source = catalogs.sources[check.source]
    return source.cited if source.private else source.id


def _apart(planned: Decimal | None, said: Decimal) -> float:
    """Relative difference; none where nothing is planned with."""
    return abs(float(said / planned) - 1) if planned else 0.0


def _by_the_million(prompt: Decimal | None, answer: Decimal | None) -> str:
    """Prices of prompt and answer tokens in words."""
    return " and ".join(f"${usd:f} out" if at else f"${usd:f} in" for at, usd in enumerate((prompt, answer)) if usd)
