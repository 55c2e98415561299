"""What the figures over draws are of, what was drawn, and what a reader must know of it."""

from typing import Any, Final

from optimizer.inputs.catalog.entries.risk_spread import RiskSpread
from optimizer.inputs.scenario.risk import DaysSpread, Spread
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.terms import stated_terms
from optimizer.plan.record.risk import DrawnSpread, RiskScope
from optimizer.plan.risk.sample import Sampled
from optimizer.plan.risk.spreads import Uncertainty

NOT_CONSIDERED: Final = (
    "demand that changes over the week, hosted APIs and containers paid by the second",
    "what a term costs after the month that is drawn (`optimizer horizon` counts that)",
    "instances that serve several workloads or hold several configurations, among the purchases chosen here",
    "several machines rented beside each other in one draw",
    "how long renting more takes, and on-demand capacity that is not to be had",
    "machines that are not on sale today",
)


def scope_of(sampled: Sampled) -> RiskScope:
    """What was considered, and what no figure here speaks of."""
    ways = sampled.purchases.ways
    signed = sum(way.offer.pricing_term not in ("on_demand", "spot") for way in ways)
    return RiskScope(
        statement=(
            "The bound speaks of whole instances, each with one configuration for one workload, "
            "bought before a draw is known."
        ),
        considered=[
            f"{len(ways)} ways to buy an instance, {signed} of them signed for, which replace all others in any draw",
            f"{len(sampled.drawn.kinds)} kinds of configurations, each with an error of its own",
        ],
        not_considered=list(NOT_CONSIDERED),
    )


def notes_of(sampled: Sampled, scenario: Scenario) -> list[str]:
    """What a reader must know of the figures."""
    risk, spreads = sampled.spreads.risk, sampled.spreads
    notes = [
        "A draw is a state of one month, not a course: what it takes away is missing all month.",
        "The plan stays as it is in every draw. What is rented for a draw knows it, errors of predictions included.",
        f"What is signed for costs today's price; all else costs what it does in {risk.months_ahead} months.",
    ]
    offers = sampled.purchases.running.offered
    unmoved = sorted({each.words for each in offers.prices if each is not None and each not in spreads.prices})
    if unmoved:
        notes.append(f"Nobody published how prices of {', '.join(unmoved)} spread; they stay.")
    if spreads.start_days is None:
        notes.append("Nobody published how long commitments take to begin; they have begun.")
    if risk.growth_percent_per_month is None and scenario.lifecycle is not None:
        notes.append("The growth of `lifecycle` is not drawn; say `risk.growth_percent_per_month`.")
    if len(scenario.workloads) > 1 and "workloads" not in risk.correlation.model_fields_set:
        share = f"{risk.correlation.workloads:.2f}"
        notes.append(
            f"Demand of any two workloads is drawn with a correlation of {share}, an assumption that nobody published; "
            "say `risk.correlation.workloads`."
        )
    if stated_terms(scenario.policy) != scenario.policy.pricing_terms:
        notes.append(
            "The scenario names no terms: commitments are considered before a draw, which its plan does not buy."
        )
    if risk.unserved_usd_per_million_requests is None:
        unserved = "say `risk.unserved_usd_per_million_requests` to leave some of it unserved"
        notes.append(f"Missing demand is met by renting more on demand; {unserved}.")
    return notes


def spreads_told(sampled: Sampled) -> list[DrawnSpread]:
    """Everything that was drawn, with its source."""
    spreads, risk = sampled.spreads, sampled.spreads.risk
    published = {f"{row.quantity} {row.seller} {row.pricing_term}": row for row in spreads.published}
    found = [_told("demand", "", "percent", spreads.demand, published.get("demand  "))]
    if risk.growth_percent_per_month is not None:
        found.append(_told("demand", "growth a month", "percent", risk.growth_percent_per_month, None))
    for price in sampled.drawn.prices:
        row = published.get(f"price {price.seller} {price.pricing_term}")
        found.append(_told("prices", price.words, "percent a year", spreads.prices[price], row))
    if risk.commitment_start_days is not None:
        found.append(_told("commitment start", "", "days", risk.commitment_start_days, None))
    if sampled.drawn.regions:
        row = published.get("spot_available  ")
        share = spreads.spot_share
        found.append(
            DrawnSpread(
                uncertainty="spot capacity",
                of="",
                unit="share of the time",
                p10=row.p10 if row else share,
                p50=share,
                p90=row.p90 if row else share,
                **_source(row),
            )
        )
    return found


def _told(
    uncertainty: Uncertainty, of: str, unit: str, spread: Spread | DaysSpread, row: RiskSpread | None
) -> DrawnSpread:
    points = {"p10": spread.p10, "p50": spread.p50, "p90": spread.p90}
    return DrawnSpread(uncertainty=uncertainty, of=of, unit=unit, **points, **_source(row))


def _source(row: RiskSpread | None) -> dict[str, Any]:
    """Whose figures these are."""
    if row is None:
        return {"series": None, "source": "scenario", "as_of": None, "note": ""}
    return {"series": row.series, "source": row.source, "as_of": row.as_of, "note": row.note}
