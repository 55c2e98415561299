"""Terms of commitments: which are considered where a scenario chose none itself, and how long they last."""

from typing import Final

from optimizer.inputs.catalog.kinds import OfferTerm, PricingTerm
from optimizer.inputs.catalog.records import Offer
from optimizer.inputs.scenario.scenario import Policy

TERM_MONTHS: Final[dict[OfferTerm, int]] = {"reserved_1y": 12, "reserved_3y": 36}
"""Of commitments that go by the year, where their row does not say."""

COMMITTED: Final[tuple[PricingTerm, ...]] = ("on_demand", "reserved_1y", "reserved_3y", "committed")
"""What is considered where the scenario chose no terms itself: all but what may be taken back."""


def stated_terms(policy: Policy) -> tuple[PricingTerm, ...]:
    """The policy's where those are not the default, else everything that stays."""
    default = type(policy).model_fields["pricing_terms"].get_default(call_default_factory=True)
    return COMMITTED if policy.pricing_terms == default else policy.pricing_terms


def term_months(offer: Offer) -> int | None:
    """How long a commitment lasts; None where nobody says."""
    return offer.commitment_months or TERM_MONTHS.get(offer.pricing_term)
