"""Plans at other prices: from nothing, from what was kept of the last plan, and with the new optimum known beforehand.

    python benchmarks/other_prices.py chat-8b two-continents --within 0.01 0.1

Every price of the catalogs is moved by its own share, drawn evenly. Each plan is simulated and verified, nothing stands
beside it; seconds are those of the processor. `cutoff` is the search alone where the cost of its own answer is its
cutoff from the start: more than any plan of before could tell it. Ends with exit code 1 where a plan, its bound or its
simulation differs from that of nothing.
"""

import argparse
import random
import sys
import time
from dataclasses import replace
from decimal import Decimal

from optimizer import load_catalogs, load_scenario
from optimizer.answers.planning.optimize import verified
from optimizer.answers.planning.tried import SimulatedPlan, confirmed_plan
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.explain.simplicity import simplicity_of
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.price_free import PriceFree
from optimizer.program.solve import Solution

MONEY_DIGITS = Decimal("0.000001")


def at_other_prices(catalogs: Catalogs, seed: int, within: float) -> Catalogs:
    """Every price moved by its own share."""
    draw = random.Random(seed)
    offers = []
    for offer in catalogs.offers:
        factor = Decimal(repr(1 + draw.uniform(-within, within)))
        price = (offer.price_usd_per_hour * factor).quantize(MONEY_DIGITS)
        offers.append(offer.model_copy(update={"price_usd_per_hour": price}))
    return replace(catalogs, offers=tuple(offers))


def planned(scenario: Scenario, catalogs: Catalogs, kept: PriceFree | None) -> tuple[float, tuple[object, ...]]:
    """CPU seconds of a plan, and what is told of it."""
    started_s = time.process_time()
    found = confirmed_plan(Inquiry.of(scenario, catalogs, kept=kept))
    if not isinstance(found, SimulatedPlan):
        return time.process_time() - started_s, (found.solution.outcome,)
    answer = found.answer
    verified(answer.inquiry, found.bought, simplicity_of(answer, found.bought))
    spent_s = time.process_time() - started_s
    return spent_s, (*_proof(answer.solution), found.bought, found.simulation, found.proven)


def _proof(solution: Solution) -> tuple[object, ...]:
    return solution.outcome, solution.reason, solution.bound_usd_per_month, solution.relative_gap


def search_s(scenario: Scenario, catalogs: Catalogs, known_usd: float | None) -> tuple[float, float | None]:
    """CPU seconds of the search at a cutoff, and what its plan costs."""
    inquiry = Inquiry.of(scenario, catalogs).keeping_to(())
    started_s = time.process_time()
    cost_usd = inquiry.solved_once(None, known_usd).solution.cost_usd_per_month
    return time.process_time() - started_s, cost_usd


def _row(name: str, within: str, nothing_s: float, kept_s: float, plain_s: float, cutoff_s: float) -> str:
    """A line of the table."""
    times = f"{nothing_s / kept_s:.1f}"
    return f"| {name} | {within} | {nothing_s:.2f} | {kept_s:.2f} | {times} | {plain_s:.2f} | {cutoff_s:.2f} |"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", help="Shipped scenarios; all of them unless some are named.")
    parser.add_argument("--within", type=float, nargs="+", default=[0.01, 0.1])
    parser.add_argument("--first-seed", type=int, default=1)
    given = parser.parse_args()
    catalogs, totals, wrong = load_catalogs(), [0.0, 0.0, 0.0, 0.0], list[str]()
    names = given.scenarios or sorted(file.stem for file in shipped_dir("scenarios").glob("*.yaml"))
    print("| scenario | prices within | from nothing | kept | times | search | with its cutoff |")
    for name in names:
        scenario, kept = load_scenario(name), PriceFree()
        planned(scenario, catalogs, kept)
        for seed, within in enumerate(given.within, given.first_seed):
            moved = at_other_prices(catalogs, seed, within)
            (nothing_s, anew), (kept_s, again) = planned(scenario, moved, None), planned(scenario, moved, kept)
            plain_s, cost_usd = search_s(scenario, moved, None)
            cutoff_s, _ = search_s(scenario, moved, cost_usd)
            spent = nothing_s, kept_s, plain_s, cutoff_s
            totals = [total + each for total, each in zip(totals, spent, strict=True)]
            wrong += [] if anew == again else [name]
            print(_row(name, f"{within:.0%}", *spent), flush=True)
    print(_row("all", "", *totals))
    print(f"plans that differ: {wrong}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
