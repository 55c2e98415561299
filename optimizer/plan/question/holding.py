"""Searches in one program, repeated until every replica of the plan that they find holds at the mix that it is sent."""

from collections.abc import Sequence

from optimizer.base.arrays import Flags
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.program.simplest import SimplerSearch

MOST_ROUNDS = 4
"""Searches with mixing, each knowing the mixes that broke before; the last one mixes nothing in between."""


def holding(
    asked: Inquiry, keep: Sequence[Flags] | None, search: SimplerSearch, most_usd: float
) -> tuple[Answer | None, bool]:
    """What a search finds whose replicas all hold at the mix that they are sent, and whether it is proven.

    Where one does not, its mix is predicted and the search is repeated, in the end with nothing mixed in between.
    """
    for later in reversed(range(MOST_ROUNDS)):
        found, proven = asked.simpler_once(keep, search, most_usd)
        if found is None or not (broken := found.broken()):
            return found, proven
        asked = asked.with_predicted(broken) if later > 1 else asked.apart()
    return None, False
