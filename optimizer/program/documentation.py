"""The formulation as a page: one paragraph per constraint family, written from the registry."""

from optimizer.program.families import FAMILIES, Family

_INTRODUCTION = """# The program in plain algebra

This page is written from the registry of constraint families by `optimizer.program.documentation`; a test keeps it so.

**Given**: request classes k with demand[k] in requests/s; offers o with price[o] in USD/h, G[o] GPUs and power[o] in kW
per whole instance; candidates c, each one configuration on one offer with g[c] GPUs per replica (a power of two),
rate[c] requests/s that one replica sustains within the SLA, and mix[c,k] requests of class k per request it serves.

**Decided**: instances[o], whole instances bought; replicas[c], engine replicas placed; flow[c], requests/s routed.
Yes-or-no decisions (used[c], chosen[l], present[p]) exist only where a family below needs them.

**Minimized**: 730 * sum over o of price[o] * instances[o], in USD/month.

**Derived**: reach[c], the flow beyond which a candidate serves more than the whole demand of every class in its mix;
most[c], the replicas beyond which one more is useless; best_rate[c], the most requests/s per replica any plan draws.
Inside the model a flow is measured in units of its reach and each row is divided by what it bounds, so that demands
from 0.01 to 10,000 requests/s give numbers of the same size.

**Ties**: among plans of equal cost, fewest GPUs, then fewest instances, then a single offer where one suffices, then
fewest replicas, then the smallest sum of id ranks. Routing then makes the busiest deployment as idle as possible, then
the next busiest, and so on.

A family that a scenario does not use adds nothing to the program.

## Constraint families
"""


def formulation_markdown() -> str:
    """The whole page."""
    return _INTRODUCTION + "".join(_paragraph(family) for family in FAMILIES)


def _paragraph(family: Family) -> str:
    loosened = f"loosened by `{family.field}`" if family.field else "not loosened by any field of the scenario"
    return f"\n### {family.name}\n{family.sentence}\n\n    {family.algebra}\n\nSlack in {family.unit}; {loosened}.\n"
