"""An inquiry cut down to the configurations that limits decide about, so that many variations of it stay cheap."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.selecting import taken
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA
from optimizer.performance.market.market import Market
from optimizer.plan.question.inquiry import Inquiry


def narrowed(inquiry: Inquiry) -> Inquiry:
    """The inquiry without configurations that no change of service levels, demand or counts could ever admit.

    What is left out stands on no admitted offer, or fails a criterion that such a change cannot mend; so every plan
    of the changed scenario is still there. A change of the policy's lists or of the quality floor needs the whole.
    """
    return replace(inquiry, options=tuple(_narrowed(choice, inquiry.market) for choice in inquiry.options))


def restricted(inquiry: Inquiry, offers: Collection[str]) -> Inquiry:
    """The inquiry where only those offers (ids) may be bought, narrowed to what stands on them."""
    return narrowed(left_with(inquiry, offers))


def left_with(inquiry: Inquiry, offers: Collection[str]) -> Inquiry:
    """The inquiry where only those offers (ids) may be bought, over the same configurations."""
    others = np.array([offer.id not in offers for offer in inquiry.market.offers], dtype=np.bool_)
    failed = inquiry.market.failed | others[:, None]
    return replace(inquiry, market=replace(inquiry.market, failed=failed))


def _narrowed(choice: WorkloadOptions, market: Market) -> WorkloadOptions:
    return taken(choice, np.flatnonzero(on_offer(choice, market) & _mendable(choice)))


def on_offer(choice: WorkloadOptions, market: Market) -> Flags:
    """(P,) whether an offer that the policy admits can hold a configuration."""
    held: Flags = np.any(choice.fits[:, market.admitted], axis=1)[choice.kind]
    return held


def _mendable(choice: WorkloadOptions) -> Flags:
    """(P,) whether a configuration fails nothing but service levels in at least one pool.

    A failure of any criterion that is not judged on predictions outlives every change of these.
    """
    lasting = [j for j, criterion in enumerate(CONFIGURATION_CRITERIA) if not criterion.predicted]
    mendable: Flags = np.any([~pool.failed[:, lasting].any(axis=1) for pool in choice.pools], axis=0)
    return mendable
