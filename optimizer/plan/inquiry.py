"""A scenario that can be solved again under a change: the same candidates, other masks, offers or policy."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from optimizer.inputs.catalog import Catalogs
from optimizer.inputs.scenario import Policy, Scenario
from optimizer.performance.apis import apis
from optimizer.performance.candidates import WorkloadOptions, evaluate, re_rated, variants
from optimizer.performance.market import Market, admits_by, market, under
from optimizer.program.formulate import Column, Formulation, formulate
from optimizer.program.given import Flags
from optimizer.program.solve import Solution, solve

COMPARISON_GAP = 0.01
COMPARISON_NODES = 50
"""Where the search ends for plans with demand over time that are only compared with the chosen, proven one."""


@dataclass(frozen=True)
class Use:
    """A candidate that runs: what it stands for, and by period its replicas and the requests/s routed to it."""

    column: Column
    replicas: tuple[int, ...]
    flow_per_s: tuple[float, ...]

    @property
    def busiest(self) -> int:
        """The period with the most traffic, the first such; with the most replicas for a standby."""
        by_load = list(zip(self.flow_per_s, self.replicas, strict=True))
        return by_load.index(max(by_load))


@dataclass(frozen=True)
class Answer:
    """A solved formulation."""

    inquiry: "Inquiry"
    formulation: Formulation
    solution: Solution

    @property
    def used(self) -> tuple[Use, ...]:
        """The candidates that ever have replicas; flows are those of the demand asked for, without what may vary."""
        replicas, asked = self.solution.replicas, self.inquiry.scenario.policy.robust.demand
        flow = np.zeros(replicas.shape)
        for routed in self.solution.flows:
            flow[routed.period, routed.candidate] += routed.flow_per_s / asked
        return tuple(
            Use(self.formulation.columns[c], tuple(replicas[:, c].tolist()), tuple(flow[:, c].tolist()))
            for c in np.flatnonzero(replicas.any(axis=0)).tolist()
        )


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

    @classmethod
    def of(cls, scenario: Scenario, catalogs: Catalogs, time_limit_s: float | None = None) -> "Inquiry":
        """Holds every offer against the policy and predicts every configuration."""
        offers = market(catalogs, scenario.policy)
        return cls(scenario, catalogs, offers, evaluate(scenario, catalogs, offers), time_limit_s)

    def solved(self, keep: Sequence[Flags] | None = None) -> Answer:
        """The optimum, optionally over a part of the configurations."""
        hosted = apis(self.scenario, self.catalogs).admitted if "serverless" in self.scenario.policy.hosting else ()
        formulation = formulate(self.scenario, self.options, self.market, keep, hosted)
        gap, nodes = (COMPARISON_GAP, COMPARISON_NODES) if self.close_enough else (0.0, None)
        solution = solve(formulation.problem, self.time_limit_s, relative_gap=gap, node_limit=nodes)
        return Answer(self, formulation, solution)

    def for_comparison(self) -> "Inquiry":
        """The same question for answers that stand beside a plan: close enough to compare, where proof takes long."""
        several = any(workload.demand is not None for workload in self.scenario.workloads)
        return replace(self, close_enough=several)

    def changed(self, scenario: Scenario) -> "Inquiry":
        """The inquiry for another scenario over the same catalogs, predicting again only what the change touches."""
        if _asked(scenario) != _asked(self.scenario):
            return Inquiry.of(scenario, self.catalogs, self.time_limit_s)
        levels = _levels(scenario) != _levels(self.scenario)
        options = self.under_levels(scenario).options if levels else self.options
        options = tuple(replace(o, workload=v.workload) for o, v in zip(options, variants(scenario), strict=True))
        same_offers = admits_by(scenario.policy) == admits_by(self.scenario.policy)
        offers = self.market if same_offers else under(self.market, scenario.policy)
        return replace(self, scenario=scenario, market=offers, options=options)

    def under_policy(self, **changes: object) -> "Inquiry":
        """The same candidates under a changed policy; for fields that predictions do not depend on."""
        policy = Policy.model_validate(self.scenario.policy.model_dump() | changes)
        changed = self.scenario.model_copy(update={"policy": policy})
        same_offers = admits_by(policy) == admits_by(self.scenario.policy)
        return replace(self, scenario=changed, market=self.market if same_offers else under(self.market, policy))

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
    policy = scenario.policy
    apart = {"slo": None, "requests_per_second": None, "demand": None}
    workloads = tuple(workload.model_copy(update=apart) for workload in scenario.workloads)
    return (workloads, policy.gpus, policy.engines, policy.precisions, policy.kv_precisions)


def _levels(scenario: Scenario) -> tuple[object, ...]:
    """What decides how fast a configuration must be."""
    return (tuple(workload.slo for workload in scenario.workloads), scenario.policy.confidence)
