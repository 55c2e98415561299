"""A scenario that can be solved again under a change: the same candidates, other masks, offers or policy."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.requirements.stated import own_fields, policy_fields
from optimizer.inputs.scenario.scenario import Policy, Scenario
from optimizer.performance.candidates.apis import apis
from optimizer.performance.candidates.mixes import OverloadedMix, with_mixes_apart, with_mixes_predicted
from optimizer.performance.candidates.options import WorkloadOptions, evaluate, re_rated, variants
from optimizer.performance.market.market import Market, admits_by, market, under
from optimizer.plan.question.service import LOAD_TOLERANCE, Service, Use, overload, services_of
from optimizer.program.problem.columns import may_mix
from optimizer.program.problem.formulate import Formulation, formulate
from optimizer.program.proof.state import EQUAL_COST
from optimizer.program.solve import Solution, solve

MOST_ROUNDS = 8
"""Solves with mixing, each knowing the mixes that broke before; most plans settle in one to three."""

NO_FLOW = 1e-8
"""Share of a class's demand below which a flow is the solver's rounding."""

COMPARISON_GAP = 0.01
COMPARISON_NODES = 50
"""Where the search ends for plans with demand over time that are only compared with the chosen, proven one."""


@dataclass(frozen=True)
class Answer:
    """A solved formulation."""

    inquiry: "Inquiry"
    formulation: Formulation
    solution: Solution
    rounds: int = 1
    """Solves until every deployment held at the mix that the plan sends it, see `Inquiry.solved`."""

    @cached_property
    def used(self) -> tuple[Use, ...]:
        """The candidates that ever have replicas; flows too small to tell from rounding are none."""
        replicas, asked = self.solution.replicas, self.inquiry.scenario.policy.robust.demand
        problem = self.formulation.problem
        flow: dict[tuple[int, int], dict[int, float]] = defaultdict(lambda: defaultdict(float))
        for routed in self.solution.flows:
            if routed.flow_per_s > NO_FLOW * problem.reach_per_s[routed.period, routed.mix]:
                flow[routed.period, routed.candidate][routed.mix] += routed.flow_per_s / asked
        ran = np.flatnonzero(replicas.any(axis=0)).tolist()
        rows = {c: np.flatnonzero(problem.candidates.rate_per_s[c]).tolist() for c in ran}
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
        inquiry = self.inquiry
        shares = [float(inquiry.market.serving_share[use.column.offer]) for use in self.used]
        return tuple(
            services_of(inquiry.options[use.column.workload], use, share)
            for use, share in zip(self.used, shares, strict=True)
        )

    def broken(self) -> tuple[OverloadedMix, ...]:
        """The mixes of which a deployment gets more than the policy lets it carry."""
        policy = self.inquiry.scenario.policy
        found = []
        for use, by_period in zip(self.used, self.services, strict=True):
            for replicas, flows, now in zip(use.replicas, use.pool_flow_per_s, by_period, strict=True):
                excess = overload(policy, replicas, now)
                if np.count_nonzero(flows) > 1 and excess > 1 + LOAD_TOLERANCE:
                    home = self.inquiry.options[use.column.workload].workload_index
                    found.append(OverloadedMix(home, now.share_of_class, excess))
        return tuple(found)


def _better(apart: Answer, mixed: Answer) -> Answer:
    """The cheaper of the best plans without and with mixing, with what is proven of both; of equals the former."""
    plain, other = apart.solution, mixed.solution
    if plain.cost_usd_per_month is None:
        return mixed
    if other.cost_usd_per_month is not None and other.cost_usd_per_month < plain.cost_usd_per_month * (1 - EQUAL_COST):
        return mixed
    proven = other.outcome in ("optimal", "infeasible")
    return replace(apart, inquiry=mixed.inquiry, solution=plain if proven else plain.bounded_by(other))


@dataclass(frozen=True)
class Inquiry:
    """One question with everything that has been worked out for it."""

    scenario: Scenario
    catalogs: Catalogs
    market: Market
    options: tuple[WorkloadOptions, ...]
    time_limit_s: float | None = None
    """For each solve; without one every answer is proven."""
    close_enough: bool = False
    """Whether answers are compared only, so that proof may stop at `COMPARISON_GAP` or `COMPARISON_NODES`."""
    any_of_equals: bool = False
    """Whether it does not matter which of several equally cheap plans is found."""

    @classmethod
    def of(cls, scenario: Scenario, catalogs: Catalogs, time_limit_s: float | None = None) -> "Inquiry":
        """Holds every offer against the policy and predicts every configuration."""
        offers = market(catalogs, scenario.policy, promises_latency=scenario.promises_latency)
        return cls(scenario, catalogs, offers, evaluate(scenario, catalogs, offers), time_limit_s)

    def solved(self, keep: Sequence[Flags] | None = None) -> Answer:
        """The optimum, optionally over a part of the configurations, that holds at the mixes it runs.

        Every deployment is predicted again at the mix that the plan sends it. Where one does not hold, its mix becomes
        one of the predicted ones and the program is solved again, after `MOST_ROUNDS` with nothing added up between
        predicted mixes, which always holds. The best plan without any mixing, which is found soon, is a ceiling.
        """
        if not self.mixes_between():
            return self._solved(keep)
        apart = self.apart()._solved(keep)
        known_usd = apart.solution.cost_usd_per_month
        inquiry, rounds = self, 1
        answer = inquiry._solved(keep, known_usd)
        while broken := answer.broken():
            mixing, rounds = rounds < MOST_ROUNDS, rounds + 1
            inquiry = inquiry.with_predicted(broken) if mixing else inquiry.apart()
            answer = inquiry._solved(keep, known_usd)
        return replace(_better(apart, answer), rounds=rounds)

    def mixes_between(self) -> int:
        """How many predicted mixes there are between which capacity is added up by shares; 0 where none is."""
        if not may_mix(self.scenario.policy):
            return 0
        simplices = {choice.workload_index: choice.simplices for choice in self.options}
        return sum(len({p for simplex in each if len(simplex) > 1 for p in simplex}) for each in simplices.values())

    def apart(self) -> "Inquiry":
        """The same candidates, each sent one of the predicted mixes."""
        return replace(self, options=tuple(with_mixes_apart(choice) for choice in self.options))

    def with_predicted(self, broken: Sequence[OverloadedMix]) -> "Inquiry":
        """The same candidates, told what they sustain of mixes that broke."""
        homes = {
            each.workload_index: [other for other in broken if other.workload_index == each.workload_index]
            for each in broken
        }
        options = tuple(
            with_mixes_predicted(choice, homes[choice.workload_index]) if choice.workload_index in homes else choice
            for choice in self.options
        )
        return replace(self, options=options)

    def _solved(self, keep: Sequence[Flags] | None, known_usd_per_month: float | None = None) -> Answer:
        hosted = apis(self.scenario, self.catalogs).admitted if "serverless" in self.scenario.policy.hosting else ()
        formulation = formulate(self.scenario, self.options, self.market, keep, hosted)
        gap, nodes = (COMPARISON_GAP, COMPARISON_NODES) if self.close_enough else (0.0, None)
        solution = solve(
            formulation.problem,
            self.time_limit_s,
            relative_gap=gap,
            node_limit=nodes,
            break_ties=not self.any_of_equals,
            cutoff_usd_per_month=np.inf if known_usd_per_month is None else known_usd_per_month,
        )
        return Answer(self, formulation, solution)

    def for_comparison(self) -> "Inquiry":
        """The same question for answers beside a plan: any of several equals, close enough where proof takes long."""
        several = any(workload.demand is not None for workload in self.scenario.workloads)
        return replace(self, close_enough=several, any_of_equals=True)

    def changed(self, scenario: Scenario) -> "Inquiry":
        """The inquiry for another scenario over the same catalogs, predicting again only what the change touches."""
        if _asked(scenario) != _asked(self.scenario):
            return Inquiry.of(scenario, self.catalogs, self.time_limit_s)
        levels = _levels(scenario) != _levels(self.scenario)
        options = self.under_levels(scenario).options if levels else self.options
        options = tuple(replace(o, workload=v.workload) for o, v in zip(options, variants(scenario), strict=True))
        return replace(self, scenario=scenario, market=self._market_of(scenario), options=options)

    def under_policy(self, **changes: object) -> "Inquiry":
        """The same candidates under a changed policy; for fields that predictions do not depend on."""
        policy = Policy.model_validate(self.scenario.policy.model_dump() | changes)
        changed = self.scenario.model_copy(update={"policy": policy})
        return replace(self, scenario=changed, market=self._market_of(changed))

    def _market_of(self, scenario: Scenario) -> Market:
        """The offers held against another scenario; the market as it is where that changes nothing."""
        now, other = self.scenario, scenario
        same_promise = now.promises_latency == other.promises_latency
        if same_promise and admits_by(now.policy) == admits_by(other.policy):
            return self.market
        return under(self.market, other.policy, promises_latency=other.promises_latency)

    def under_levels(self, scenario: Scenario) -> "Inquiry":
        """The same candidates for a scenario that differs in service levels or confidence only."""
        confidence = scenario.policy.confidence
        alike = confidence == self.scenario.policy.confidence
        options = tuple(
            choice
            if alike and variant.workload.slo == choice.workload.slo
            else re_rated(choice, variant.workload, confidence, self.catalogs)
            for choice, variant in zip(self.options, variants(scenario), strict=True)
        )
        return replace(self, scenario=scenario, options=options)


def _asked(scenario: Scenario) -> tuple[object, ...]:
    """What decides which configurations are considered at all and which fail without a prediction.

    Not how much is asked for: what one replica sustains does not depend on the demand.
    """
    apart = dict.fromkeys(own_fields("levels", "fleet"))
    workloads = tuple(workload.model_copy(update=apart) for workload in scenario.workloads)
    return (workloads, *(getattr(scenario.policy, field) for field in sorted(policy_fields("candidates"))))


def _levels(scenario: Scenario) -> tuple[object, ...]:
    """What decides how fast a configuration must be."""
    return (tuple(workload.slo for workload in scenario.workloads), scenario.policy.confidence)
