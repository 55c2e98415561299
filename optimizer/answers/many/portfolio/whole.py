"""Few services as one program, where prices leave a gap: its bound, and its plans among those to choose from."""

from typing import Final

import numpy as np

from optimizer.answers.many.portfolio.desk import Desk
from optimizer.answers.many.portfolio.rounds import ChosenPlans, Search, chosen
from optimizer.base.clock import Clock
from optimizer.program.portfolio.together import Block, solved_together

MOST_CELLS: Final = 3000
"""Candidates times periods of all services beyond which one program takes too long."""

NODES: Final = 5000
"""Of branch and bound, the same on every machine."""

NO_GAP: Final = 1e-6


def proven_together(
    search: Search, best: ChosenPlans | None, desk: Desk, clock: Clock, node_limit: int = NODES
) -> ChosenPlans | None:
    """The cheapest of a known choice and the one program's, whose bound the search has then, too.

    Where all services are small; else the choice as it is.
    """
    gap = 1.0 if best is None else 1 - search.bound_usd / best.usd
    if gap <= NO_GAP or clock.expired:
        return best
    blocks = _blocks(search, desk)
    if not blocks:
        return best
    kinds = np.repeat(np.arange(len(search.counts)), search.counts).tolist()
    together = solved_together([blocks[kind] for kind in kinds], search.shared, clock, node_limit)
    search.bound_usd = max(search.bound_usd, together.bound_usd)
    search.excluded = together.infeasible
    if not together.values:
        return best
    asked = [(kind, "decided", (values,)) for kind, values in zip(kinds, together.values, strict=True)]
    for kind, reply in zip(kinds, desk.answers(asked), strict=True):
        search.add(kind, reply)
    return chosen(search, clock)


def _blocks(search: Search, desk: Desk) -> dict[int, Block]:
    """The part of the program of each kind that there is; none where one is no single program, or all are too many."""
    kinds = np.flatnonzero(search.counts).tolist()
    found: list[Block | None] = desk.answers([(kind, "block", (search.hour,)) for kind in kinds])
    blocks = {kind: block for kind, block in zip(kinds, found, strict=True) if block is not None}
    cells = sum(block.cells * int(search.counts[kind]) for kind, block in blocks.items())
    return blocks if len(blocks) == len(kinds) and cells <= MOST_CELLS else {}
