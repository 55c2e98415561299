"""Whether a baseline is what its own inputs give: where they are at hand, an edited price or cost is recognised."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from optimizer.answers.gate.baseline import Baseline
from optimizer.base.errors import Finding, InputError, refuse
from optimizer.inputs.catalog.records import Catalogs

PLAN_AGAIN: Final = "the file was edited, or another build of the version wrote it; plan the baseline again"


def refuse_other_prices(baseline: Baseline, catalogs: Catalogs) -> None:
    """Holds what a baseline paid by the hour against the prices that it was made on.

    Raises:
        InputError: a price is another, or the catalogs have none; says which.
    """
    refuse(_other_prices(baseline, catalogs))


def _other_prices(baseline: Baseline, catalogs: Catalogs) -> Iterator[Finding]:
    prices = {offer.id: offer.price_usd_per_hour for offer in catalogs.offers}
    for number, paid in enumerate(baseline.plan.purchases):
        price = prices.get(paid.offer)
        if price != paid.price_usd_per_hour:
            listed = "have no such offer" if price is None else f"say {price}"
            problem = f"{paid.price_usd_per_hour}, but the catalogs that it was made on {listed} ({paid.offer})"
            yield Finding(baseline.file, 0, f"purchases[{number}].price_usd_per_hour", problem, PLAN_AGAIN)


def refuse_other_cost(baseline: Baseline, afresh_usd: Decimal | None) -> None:
    """Holds what a baseline costs against its inputs solved afresh, by the version that made it.

    Solved again it may cost something else, since what runs is kept and bought anew. Solved afresh it may not: a proven
    plan costs what its inputs cost.

    Args:
        baseline: A plan of before.
        afresh_usd: A month of its inputs as if nothing ran; None where that is not proven.

    Raises:
        InputError: it costs something else.
    """
    if afresh_usd in (None, baseline.usd) or not baseline.plan.proven:
        return
    problem = (
        f"{baseline.usd:.2f}, but the same scenario on the same prices, catalog and calibration, planned by the same "
        f"version, costs {afresh_usd:.2f}"
    )
    raise InputError([Finding(baseline.file, 0, "monthly_cost_usd", problem, PLAN_AGAIN)])
