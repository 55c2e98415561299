"""The formulation as a page: one paragraph per constraint family, written from the registry."""

from optimizer.program.formulation.family import Family
from optimizer.program.formulation.registry import FAMILIES

_INTRODUCTION = """# The program in plain algebra

Written from the registry of constraint families by `program.formulation.documentation`; a test keeps it so.

**Given**: periods t of the month with hours[t], which sum to 730; request classes k with demand[t,k] in requests/s, the
highest of the period's hours, of which asked[t,m] is the average over them as a share (one for all classes of a mix),
each of a workload w that keeps least[t,w] replicas running; mixes m of requests with mix[m,k] requests of class k each;
offers o with price[o] in USD/h, G[o] GPUs, power[o] in kW and carbon[o] in kg/h per whole instance, paid by the hour
that an instance runs or always (committed, owned), and egress[o] in USD per GB sent to the internet where the scenario
says how many gb[m] the answers of a mix send; candidates c, each one configuration on one offer with g[c] GPUs per
replica (a power of two), rate[c,m] requests/s of mix m that one replica sustains when it serves hardly anything else
and keeps the SLA of each class of its mixes, in_force[c] replicas that run today; hosted APIs a with price[a] in USD
per request of one mix.

**Decided**: instances[t,o], whole instances that run, the same in every period where they are always paid;
replicas[t,c], engine replicas placed; flow[t,c,m], requests/s routed; bought[t,a], requests/s sent to a hosted API.
Everything else (used[t,c], carried[t,k], placed[t,p], exposed[t,k,l], stacked[t,c,n], chosen[l], present[t,p],
used[p], starts[o,t,u], lingering[o,h], begun[o,h], started[c], stopped[c]) exists only where a family below needs it.

**Minimized**, in USD/month: sum over t and o of hours[t] * price[o] * instances[t,o]
+ sum over t, c and m of 3600 * hours[t] * asked[t,m] * gb[m] * egress[o(c)] * flow[t,c,m]
+ sum over t and a of 3600 * hours[t] * asked[t,m(a)] * price[a] * bought[t,a]
+ sum over o and changes from period t to u of price[o] * start_up_hours * changes_per_month[t,u] * starts[o,t,u]
+ sum over o and hours h of the week of weeks_per_month * price[o] * lingering[o,h]
+ usd_per_change * sum over c of (started[c] + stopped[c]).

**Derived**: reach[t,m], the flow beyond which a mix gets more than the whole demand of each of its classes; most[t,c],
the replicas beyond which one more is useless; best_rate[t,c,m], the most requests/s of a mix per replica that any plan
draws; full[t,c,k], the share of a demand that one replica carries at full rate, at most 1; contents p of an instance,
count[p,c] replicas of each candidate, and the levels l of what the loss of one takes of a demand. Inside the model a
flow is measured in units of its reach and each row is divided by what it bounds, so that demands from 0.01 to 10,000
requests/s give numbers of the same size.

**Ties**: among plans of equal cost, fewest GPU hours, then fewest instance hours, then a single offer where one
suffices, then fewest replica hours, then the smallest sum of id ranks. Routing then sends answers as cheaply as the
machines allow and, beyond that, makes the busiest deployment as idle as possible, then the next busiest, and so on,
period by period.

A family that a scenario does not use adds nothing to the program.

## Constraint families
"""


def formulation_markdown() -> str:
    """The whole page."""
    return _INTRODUCTION + "".join(_paragraph(family) for family in FAMILIES)


def _paragraph(family: Family) -> str:
    loosened = f"loosened by `{family.field}`" if family.field else "not loosened by any field of the scenario"
    return f"\n### {family.name}\n{family.sentence}\n\n    {family.algebra}\n\nSlack in {family.unit}; {loosened}.\n"
