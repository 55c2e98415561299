"""Few services as one program, where prices leave a gap: its bound, and its plans among those to choose from."""

from typing import Final

import numpy as np

from optimizer.answers.portfolio.desk import Desk
from optimizer.answers.portfolio.rounds import Chosen, Search, chosen
from optimizer.base.clock import Clock
from optimizer.program.portfolio.together import Block, solved_together

MOST_CELLS: Final = 3000
"""Candidates times periods of all services beyond which one program takes too long."""

NODES: Final = 5000
"""Of branch and bound, the same on every machine."""

NO_GAP: Final = 1e-6


def proven_together(search: Search, best: Chosen | None, desk: Desk, clock: Clock) -> Chosen | None:
    """The cheapest of a known choice and the one program's, whose bound the search has then, too.

    Where all services are small; else the choice as it is.
    """
    gap = 1.0 if best is None else 1 - search.bound_usd / best.usd
    if gap <= NO_GAP or clock.expired:
        return best
    kinds = range(len(search.counts))
    found: list[Block | None] = desk.answers([(kind, "block", (search.hour,)) for kind in kinds])
    blocks = [block for block in found if block is not None]
    counts = search.counts.tolist()
    if len(blocks) < len(found) or sum(b.cells * n for b, n in zip(blocks, counts, strict=True)) > MOST_CELLS:
        return best
    kind_of_block = np.repeat(np.arange(len(counts)), counts).tolist()
    together = solved_together([blocks[kind] for kind in kind_of_block], search.shared, clock, NODES)
    search.bound_usd = max(search.bound_usd, together.bound_usd)
    search.excluded = together.infeasible
    if not together.values:
        return best
    asked = [(kind, "decided", (values,)) for kind, values in zip(kind_of_block, together.values, strict=True)]
    for kind, reply in zip(kind_of_block, desk.answers(asked), strict=True):
        search.add(kind, reply)
    return chosen(search, clock)
