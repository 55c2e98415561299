"""A scenario that can be solved again under a change: the same candidates, other masks, offers or policy."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.clock import Clock, LimitReached
from optimizer.base.progress import BestAndBound
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.requirements.avoided import SPEED, quality_of
from optimizer.inputs.scenario.policy import InForce, Migration
from optimizer.inputs.scenario.scenario import Policy, Scenario
from optimizer.performance.candidates.apis import apis
from optimizer.performance.candidates.avoiding import keeping_to_measured, keeping_to_published
from optimizer.performance.candidates.lowering import LoweredRate, last_of_each, with_lowered
from optimizer.performance.candidates.mixes import OverloadedMix, with_mixes_apart, with_predicted
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.periods import Periods, grouped, periods, told_apart
from optimizer.performance.market.market import Market, asked_again, market
from optimizer.performance.per_second.containers import ServedBySecond
from optimizer.performance.per_second.instead import with_containers
from optimizer.plan.question.dependence import levels_of, what_is_considered
from optimizer.plan.question.predicting import at_levels, for_workloads, predicted_for
from optimizer.plan.question.price_free import PriceFree
from optimizer.plan.question.service import LOAD_TOLERANCE, Service, Use, overload, services_of
from optimizer.program.problem.columns import may_mix
from optimizer.program.problem.formulate import Formulation, formulate
from optimizer.program.problem.single_instances import on_a_single_instance
from optimizer.program.problem.tolls import tolled
from optimizer.program.simplest import Complexity, SimplerSearch, complexity, held_to
from optimizer.program.solve import Solution, solve, solve_simpler

COMPARISON_GAP, COMPARISON_NODES = 0.01, 50
"""Where the search ends for plans with demand over time that are only compared with the chosen, proven one."""


@dataclass(frozen=True)
class Answer:
    """A solved formulation."""

    inquiry: "Inquiry"
    formulation: Formulation
    solution: Solution
    rounds: int = 1
    """Solves until every deployment held at the mix that the plan sends it, see `solving`."""
    looked_between: bool = False
    """Whether `rounds` counts solves with capacity added up between mixes."""
    mixes_settled: bool = False
    """Whether probes between the predicted mixes leave no cheaper plan possible, or no plan where there is none; see
    `performance.candidates.probing` for what they show. Nothing is claimed where no capacity is added up."""
    cheapest: "Answer | None" = None
    """The cheapest plan, where a simpler one within the policy's percentage stands in its place."""
    kept: bool = False
    """Whether it is what runs today, whatever else is simpler."""
    simplicity_proven: bool = True
    """Whether no plan of these periods within the percentage is simpler, nor as simple and cheaper."""
    simple_first: "Answer | None" = None
    """A simple plan that was found before every hour was searched, see `question.simple_first`."""
    enough: bool = False
    """Whether it is that plan, which ended the search for the cheapest; no limit had a part in it."""
    every_hour_is_due: bool = False
    """Whether it is a plan of few periods of a week whose every hour is to be asked once it holds."""
    other_hours_untried: bool = False
    """Whether batches may be worked on in other numbers of hours than were tried, see `question.batches`."""

    @property
    def proven(self) -> bool:
        """Whether every search for it came to its end, so that the same question has the same answer."""
        return self.enough or (self.solution.outcome == "optimal" and self.simplicity_proven)

    @cached_property
    def complexity(self) -> Complexity:
        """What there is to operate."""
        solution = self.solution
        called = np.asarray((solution.api_flow_per_s > 0).any(axis=0))
        return complexity(self.formulation.problem, solution.replicas, solution.instances, called)

    @property
    def single(self) -> frozenset[str]:
        """The workloads that stand on a single instance, or may: a batch is nothing that goes down."""
        batches = frozenset(each.name for each in self.inquiry.scenario.workloads if each.deadline is not None)
        return batches | on_a_single_instance(self.formulation.problem, self.solution.replicas, self.solution.instances)

    @property
    def running_alike(self) -> Ints:
        """(168,) the period of each hour where hours that run the same instances are one."""
        state = np.unique(self.solution.instances, axis=0, return_inverse=True)[1].reshape(-1)
        return told_apart(state[self.formulation.periods.hour_to_period])

    @cached_property
    def used(self) -> tuple[Use, ...]:
        """The candidates that ever have replicas."""
        replicas, asked = self.solution.replicas, self.inquiry.scenario.policy.robust.demand
        flow: dict[tuple[int, int], dict[int, float]] = defaultdict(lambda: defaultdict(float))
        for routed in self.solution.flows:
            flow[routed.period, routed.candidate][routed.mix] += routed.flow_per_s / asked
        ran = np.flatnonzero(replicas.any(axis=0)).tolist()
        rows = {c: np.flatnonzero(self.formulation.problem.candidates.rate_per_s[c]).tolist() for c in ran}
        return tuple(
            Use(
                self.formulation.columns[c],
                tuple(replicas[:, c].tolist()),
                tuple(tuple(flow[t, c][m] for m in rows[c]) for t in range(len(replicas))),
            )
            for c in ran
        )

    @cached_property
    def services(self) -> tuple[tuple[Service, ...], ...]:
        """By period what each of `used` is sent and sustains, predicted at its own mix."""
        return services_of(self.inquiry.options, self.used, self.inquiry.market.serving_share)

    def broken(self) -> tuple[OverloadedMix, ...]:
        """The mixes of which a deployment gets more than the policy lets it carry."""
        policy = self.inquiry.scenario.policy
        found = []
        for use, by_period in zip(self.used, self.services, strict=True):
            for replicas, flows, now in zip(use.replicas, use.pool_flow_per_s, by_period, strict=True):
                excess = overload(policy, replicas, now.flow_per_s, now.rate_per_s)
                if np.count_nonzero(flows) > 1 and excess > 1 + LOAD_TOLERANCE:
                    home = self.inquiry.options[use.column.workload].workload_index
                    found.append(OverloadedMix(home, now.share_of_class, excess))
        return tuple(found)


@dataclass(frozen=True)
class Inquiry:
    """One question with everything that has been worked out for it."""

    scenario: Scenario
    catalogs: Catalogs
    market: Market
    options: tuple[WorkloadOptions, ...]
    clock: Clock = field(default_factory=Clock)
    """Of the whole question, or of a part of it: one runs through rounds, solves and predictions."""
    best_and_bound: BestAndBound | None = None
    """Told USD a month of the best plan, where there is one, and what no plan undercuts."""
    insists: bool = True
    """Whether an answer is wanted at any rate, a simple plan at least; else a limit raises `LimitReached`."""
    settles: bool = False
    """Whether a plan that a limit left unproven will do where nobody insists."""
    falls_back: bool = True
    """Whether a simple plan stands in for a search that was cut short; it is looked for once, in the first program."""
    close_enough: bool = False
    """Whether answers are compared only, so that proof may stop at `COMPARISON_GAP` or `COMPARISON_NODES`."""
    proves: bool = True
    """Whether more is asked of what no plan undercuts than a search for a plan tells; not of a first plan of a week."""
    any_of_equals: bool = False
    """Whether it does not matter which of several equally cheap plans is found."""
    hour_to_period: Ints | None = None
    """(168,) the periods that a variation of a plan is made of; None where it takes as many as lose no plan."""
    most_rounds: int | None = None
    """Solves with capacity added up between mixes, after which a plan without stands; None for as many as it takes."""
    node_limit: int | None = None
    """For each solve; without one it goes on until every answer is proven."""
    simplifies: bool = True
    """Whether a simpler plan is wanted where one costs little more; else the cheapest."""
    enough_usd: float = np.inf
    """What the cheapest plan of a large week must be known to cost a month at least; no more is asked of it."""
    few_periods_s: float = 0.0
    """What the first plan of few periods of a week took, as the same of any other will."""
    most_complicated: Complexity | None = None
    """Plans have no more to operate than this, in anything."""
    shown: Complexity | None = None
    """What there is to operate in the plan beside which this is answered: simple enough, where it costs little more."""
    running: tuple[InForce, ...] = ()
    """What runs today and stays where it still keeps every requirement and costs little more than the cheapest plan."""
    avoided: tuple[str, ...] = ()
    """Fields of the scenario that avoid something and are kept to; see `question.asking`."""
    lowered: tuple[LoweredRate, ...] = ()
    """What a simulation found replicas to hold, where that is less than predicted."""
    by_second: tuple[ServedBySecond, ...] = ()
    """Containers that serve all of a workload each; see `question.by_second`."""
    tolls_usd_per_hour: Floats | None = None
    """(168, O) what an instance pays in each hour for what questions share; in a solution's cost, in no bill."""
    looks_ahead: bool = True
    """Whether more mixes are predicted because replicas may sustain more of them; not again once a plan is found."""
    kept: PriceFree | None = None
    """What was predicted and simulated for questions before this one; None where nothing is kept."""

    @classmethod
    def of(
        cls, scenario: Scenario, catalogs: Catalogs, clock: Clock | None = None, kept: PriceFree | None = None
    ) -> "Inquiry":
        """Holds every offer against the policy and predicts every configuration, or finds it among what is kept.

        Raises:
            LimitReached: the process holds all the memory that it may.
        """
        if kept is not None:
            kept.on(catalogs)
        offers, clock = market(catalogs, scenario.policy, promises_latency=scenario.promises_latency), clock or Clock()
        return cls(scenario, catalogs, offers, predicted_for(scenario, catalogs, offers, clock, kept), clock, kept=kept)

    def keeping_to(self, fields: Sequence[str]) -> "Inquiry":
        """The same question where what those fields avoid does not serve; rates are known of all."""
        options = self.options
        if SPEED in fields:
            options = tuple(keeping_to_measured(choice, self.catalogs) for choice in options)
        options = tuple(
            keeping_to_published(choice, self.catalogs) if quality_of(choice.workload) in fields else choice
            for choice in options
        )
        return replace(self, options=options, avoided=tuple(fields))

    @property
    def over_time(self) -> bool:
        """Whether demand changes over the week, which makes every solve a long one."""
        return any(workload.demand is not None for workload in self.scenario.workloads)

    @cached_property
    def week(self) -> Periods:
        """The periods that plans are made of."""
        hours = self.hour_to_period
        return periods(self.scenario) if hours is None else grouped(self.scenario, hours)

    def mixes_between(self) -> int:
        """How many predicted mixes there are between which capacity is added up by shares; 0 where none is."""
        if not may_mix(self.scenario.policy):
            return 0
        simplices = {choice.workload_index: choice.simplices for choice in self.options}
        return sum(len({p for simplex in each if len(simplex) > 1 for p in simplex}) for each in simplices.values())

    def with_lowered(self, lowered: Sequence[LoweredRate]) -> "Inquiry":
        """The same candidates, of which some sustain only what a simulation found; of several findings the last."""
        every = last_of_each((*self.lowered, *lowered))
        load = self.scenario.policy.highest_load
        return replace(self, lowered=every, options=tuple(with_lowered(choice, every, load) for choice in self.options))

    def apart(self) -> "Inquiry":
        """The same candidates, each sent one of the predicted mixes."""
        return replace(self, options=tuple(with_mixes_apart(choice) for choice in self.options))

    def with_predicted(self, mixes: Sequence[OverloadedMix]) -> "Inquiry":
        """The same candidates, told what they sustain of more mixes."""
        of_workload = defaultdict[int, list[OverloadedMix]](list)
        for mix in mixes:
            of_workload[mix.workload_index].append(mix)
        return replace(
            self, options=tuple(with_predicted(each, of_workload[each.workload_index]) for each in self.options)
        )

    def formulated(self, keep: Sequence[Flags] | None = None, counts: bool = False, whole: bool = True) -> Formulation:
        """The problem, over a part of the configurations, counted or not, and `whole` or for a search alone."""
        hosted = apis(self.scenario, self.catalogs).admitted if "serverless" in self.scenario.policy.hosting else ()
        counts = counts or self.most_complicated is not None
        made_of = with_containers(self.by_second, self.options, keep, hosted, self.week)
        taxed = self.tolls_usd_per_hour is not None
        found = formulate(self.scenario, self.options, self.market, *made_of, counts, whole or taxed)
        if self.tolls_usd_per_hour is not None:
            tolls = self.tolls_usd_per_hour[:, found.offers]
            found = replace(found, problem=tolled(found.problem, tolls, found.periods.hour_to_period))
        return found if not (most := self.most_complicated) else replace(found, problem=held_to(found.problem, most))

    def solved_once(self, keep: Sequence[Flags] | None, known_usd_per_month: float | None = None) -> Answer:
        """The optimum of one program: these periods, and capacity added up between these predicted mixes."""
        self.still_wanted()
        formulation = self.formulated(keep, whole=self.insists)
        gap, nodes = (COMPARISON_GAP, COMPARISON_NODES) if self.close_enough else (0.0, self.node_limit)
        solution = solve(
            formulation.problem,
            self.clock,
            progress=None if self.best_and_bound is None else self._told,
            relative_gap=gap,
            node_limit=nodes,
            break_ties=not self.any_of_equals,
            cutoff_usd_per_month=np.inf if known_usd_per_month is None else known_usd_per_month,
            at_any_rate=self.insists and self.falls_back,
            proof=self.proves and not self.close_enough,
            enough_usd_per_month=self.enough_usd,
        )
        settled = ("optimal", "infeasible", "feasible") if self.settles else ("optimal", "infeasible")
        if solution.ended_by is not None and not self.insists and solution.outcome not in settled:
            raise LimitReached(solution.ended_by)
        return Answer(self, formulation, solution)

    def simpler_once(
        self, keep: Sequence[Flags] | None, search: SimplerSearch, most_usd: float
    ) -> tuple["Answer | None", bool]:
        """What a search for a simpler plan finds in one program within a cost a month, and whether that is proven."""
        self.still_wanted()
        formulation = self.formulated(keep, counts=True, whole=self.insists)
        nodes = COMPARISON_NODES if self.over_time else self.node_limit
        solution, proven = solve_simpler(formulation.problem, search, most_usd, self.clock, nodes)
        if not proven:
            self.still_wanted()
        return None if solution is None else Answer(self, formulation, solution), proven

    def still_wanted(self) -> None:
        """Raise `LimitReached` before anything is worked out that nobody insists on and for which nothing is left."""
        if not self.insists and (limit := self.clock.reached) is not None:
            raise LimitReached(limit)

    def _told(self, usd_per_hour: float | None, bound_usd_per_hour: float) -> None:
        """Tell whoever watches what is known, in USD a month; that a try has no plan (its bound is infinite) is not."""
        if self.best_and_bound is not None and isfinite(bound_usd_per_hour):
            best = None if usd_per_hour is None else usd_per_hour * HOURS_PER_MONTH
            self.best_and_bound(best, bound_usd_per_hour * HOURS_PER_MONTH)

    def beside_a_plan(self, clock: Clock, shown: Complexity | None = None) -> "Inquiry":
        """The same question for what is worked out next to its answer, a plan `shown` or none, on its own clock."""
        return replace(self, clock=clock, best_and_bound=None, insists=False, shown=shown)

    def for_comparison(self) -> "Inquiry":
        """The same question for answers beside a plan: any of several equals, close enough where proof takes long."""
        return replace(self, close_enough=self.over_time, any_of_equals=True, looks_ahead=False)

    def changed(self, scenario: Scenario) -> "Inquiry":
        """The inquiry for another scenario over the same catalogs, predicting again only what the change touches."""
        self.still_wanted()
        offers = asked_again(self.market, self.scenario, scenario)
        if what_is_considered(scenario) != what_is_considered(self.scenario):
            options = predicted_for(scenario, self.catalogs, offers, self.clock, self.kept)
            fresh = replace(self, scenario=scenario, market=offers, options=options).keeping_to(self.avoided)
            return fresh.with_lowered(())
        levels = levels_of(scenario) != levels_of(self.scenario)
        options = self.under_levels(scenario).options if levels else self.options
        return replace(self, scenario=scenario, market=offers, options=for_workloads(options, scenario))._from(self)

    def _from(self, other: "Inquiry") -> "Inquiry":
        """The same, what replicas hold told anew where the other one's plans send them more or less."""
        loads = {each.scenario.policy.highest_load for each in (self, other)}
        return self.with_lowered(()) if self.lowered and len(loads) > 1 else self

    def under_policy(self, **changes: object) -> "Inquiry":
        """The same candidates under a changed policy; for fields that predictions do not depend on."""
        policy = Policy.model_validate(self.scenario.policy.model_dump() | changes)
        changed = self.scenario.model_copy(update={"policy": policy})
        return replace(self, scenario=changed, market=asked_again(self.market, self.scenario, changed))._from(self)

    def unchanged_from(self, running: tuple[InForce, ...]) -> "Inquiry":
        """The same question for plans that start and stop no replica of what runs."""
        return self.under_policy(migration=Migration(in_force=running, max_changes=0))

    def as_simple_as(self, known: Complexity) -> "Inquiry":
        """The same question for the cheapest of plans that are no more complicated than a known one."""
        return replace(self, most_complicated=known, simplifies=False)

    def under_levels(self, scenario: Scenario) -> "Inquiry":
        """The same candidates for a scenario that differs in service levels or confidence only."""
        options = at_levels(self.options, self.scenario.policy.confidence, scenario, self.catalogs)
        return replace(self, scenario=scenario, options=options)
