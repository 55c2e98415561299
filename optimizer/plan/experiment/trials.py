"""Benchmark runs worth thinking of: of what the plan runs, and of what would make it cheaper if it went well."""

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from optimizer.base.clock import Limit, LimitReached
from optimizer.inputs.catalog.kinds import OWNED
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.benchmark.runs import BenchmarkRun, runs_of
from optimizer.plan.experiment.price import RunPrice, price_of
from optimizer.plan.experiment.prospects import RESULTS, Prospect, Prospects
from optimizer.plan.experiment.subjects import Subject, subject_of
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.naming import deployment_names

MOST_OTHERS: Final = 24
"""Runs of what the plan does not use; the rest is bounded together."""


@dataclass(frozen=True)
class Trial:
    """A run with what each of its results would come to.

    Attributes:
        subject: What it is made of.
        in_plan: Whether the plan uses that.
        decides: The result whose plan the run is made at the load of; None where that is today's plan.
        by_result: From the best result to the worst; those that there was no time for are left out.
        results_left_out: How many those are.
        runs: What is sent to one replica, a class each, at the load that it has in the plan that uses it.
        price: Of the run.
    """

    subject: Subject
    in_plan: bool
    decides: Prospect | None
    by_result: tuple[Prospect, ...]
    results_left_out: int
    runs: tuple[BenchmarkRun, ...]
    price: RunPrice

    @property
    def expected_usd(self) -> Decimal:
        """Saved a month: the mean over all results, of which those that are not known save nothing."""
        return sum((each.saved_usd for each in self.by_result), Decimal(0)) / RESULTS

    @property
    def net_usd(self) -> Decimal:
        """Saved in the first month, less the price of the run."""
        return self.expected_usd - self.price.usd

    @property
    def chance_of_change(self) -> float:
        """That another plan comes of it, as far as results are known."""
        return sum(each.changes for each in self.by_result) / RESULTS

    @property
    def chance_too_small(self) -> float:
        """That today's plan turns out too small, as far as results are known."""
        return sum(each.too_small for each in self.by_result) / RESULTS


@dataclass
class Trials:
    """The runs that were tried, as far as the clock went.

    Attributes:
        found: Of each the results.
        reached: The limit that cut it short, where one did.
        untried: What the plan runs of which there was no time to begin with any result.
        left_usd: By how much all that was not tried, measured at its best, would lower the least cost a month; 0 where
            nothing of it can, None where there was no time to tell.
    """

    found: list[Trial]
    reached: Limit | None = None
    untried: tuple[Subject, ...] = ()
    left_usd: Decimal | None = None


def tried(prospects: Prospects) -> Trials:
    """What the plan runs, then what else a plan would run were all of it measured at its best, again and again; last
    what a plan would run in place of today's where a run of that says that today's is no use.

    What no plan would run is not tried, though it may tell of what the plan runs on the same GPU. A run of that itself
    tells more, at the load that is to be carried; that the twin's seems worth more is only the doubt that it leaves.
    """
    trials, seen = Trials([]), set[Subject]()
    trials.untried = prospects.running
    try:
        for number, subject in enumerate(prospects.running, start=1):
            _try(prospects, subject, trials.found)
            trials.untried = prospects.running[number:]
        while True:
            others, below_usd = prospects.could_win(seen)
            trials.left_usd = below_usd if others else Decimal(0)
            if not others or len(seen) >= MOST_OTHERS:
                break
            for subject in others:
                _try(prospects, subject, trials.found)
                seen.add(subject)
        while len(seen) < MOST_OTHERS and (twins := prospects.could_replace(seen)):
            for subject in twins:
                _try(prospects, subject, trials.found)
                seen.add(subject)
    except LimitReached as reached:
        trials.reached = reached.limit
    begun = {trial.subject for trial in trials.found}
    trials.untried = tuple(subject for subject in trials.untried if subject not in begun)
    return trials


def _try(prospects: Prospects, subject: Subject, found: list[Trial]) -> None:
    """Adds the run of a subject to those found, unless nothing serves with it, whatever the result.

    Raises:
        LimitReached: not all results were worked out; the run was added with those that were.
    """
    in_plan = subject in prospects.running
    by_result: list[Prospect] = []
    reached: Limit | None = None
    try:
        for result in range(RESULTS):
            by_result.append(prospects.prospect(subject, result))
            if not (prospects.tells_of_plan(subject) or by_result[-1].changes):
                # a worse result admits fewer plans, so it changes nothing either
                by_result += [by_result[-1]] * (RESULTS - len(by_result))
                break
    except LimitReached as limit:
        reached = limit.limit
    policy, catalogs = prospects.today.scenario.policy, prospects.today.catalogs
    decides, runs = _deciding(prospects, subject, by_result)
    if runs:
        left_out, price = RESULTS - len(by_result), price_of(runs, policy, catalogs)
        found.append(Trial(subject, in_plan, decides, tuple(by_result), left_out, runs, price))
    if reached is not None:
        raise LimitReached(reached)


def _deciding(
    prospects: Prospects, subject: Subject, by_result: list[Prospect]
) -> tuple[Prospect | None, tuple[BenchmarkRun, ...]]:
    """The run at the load of the cheaper plan that most results lead to, of those that use the subject; else of today's
    plan; else of one that a result leads to by which today's is too small.

    Of equally many results the better ones count.
    """
    scenario, catalogs = prospects.today.scenario, prospects.today.catalogs
    changes = [each for each in by_result if each.changes and each.answer is not None]
    plans = Counter(each.knowing_usd for each in changes if not each.too_small)
    cheaper = sorted((each for each in changes if not each.too_small), key=lambda each: -plans[each.knowing_usd])
    for each in (*cheaper, None, *(each for each in changes if each.too_small)):
        fleet = prospects.bought if each is None or each.answer is None else read_back(each.answer)
        if runs := _runs(scenario, catalogs, fleet, subject):
            return each, runs
    return None, ()


def _runs(scenario: Scenario, catalogs: Catalogs, fleet: PlannedFleet, subject: Subject) -> tuple[BenchmarkRun, ...]:
    """Those of the deployment of the subject on which they cost least, rented before owned; none where it has none."""
    bought = dict(zip(deployment_names(fleet.deployments), fleet.deployments, strict=True))
    by_deployment = defaultdict[str, list[BenchmarkRun]](list)
    for run in runs_of(scenario, catalogs, fleet):
        if subject_of(run.d.workload, run.d) == subject:
            for name in (run.deployment_name, *run.also_for):
                by_deployment[name].append(replace(run, d=bought[name]))
    every = [tuple(runs) for runs in by_deployment.values()]
    return min(every, key=lambda runs: _least_paid_first(price_of(runs, scenario.policy, catalogs)), default=())


def _least_paid_first(price: RunPrice) -> tuple[bool, Decimal]:
    return price.pricing_term == OWNED, price.usd
