"""The kinds of question, called as the commands are: each from a scenario, the catalogs and options to an answer."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from optimizer.answers.accuracy.predicted import Prediction, Setting
from optimizer.answers.accuracy.prediction import predict_setting
from optimizer.answers.ahead.lifecycle.lifecycle import lifecycle, phase_of
from optimizer.answers.ahead.lifecycle.types import LifecycleReport
from optimizer.answers.compare.compare import COMPARE_PHASES, compare
from optimizer.answers.compare.types import Comparison
from optimizer.answers.gate.gate import gate
from optimizer.answers.gate.reading import baseline_in
from optimizer.answers.gate.rules.demands import GateLimits
from optimizer.answers.gate.types import GateReport
from optimizer.answers.located import located
from optimizer.answers.planning.frontier import Frontier, frontier, frontier_steps, sweep_of
from optimizer.answers.planning.optimize import OPTIMIZE_PHASES, optimize
from optimizer.answers.planning.why_not import WHY_NOT_PHASES, WhyNot, why_not
from optimizer.answers.running.arrivals import arrivals_of
from optimizer.answers.running.simulate import simulate
from optimizer.answers.verify import plan_of
from optimizer.base.errors import Finding, InputError
from optimizer.base.progress import BestAndBound, Progress
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.loading import ScenarioFile
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.forcing import Choice
from optimizer.plan.record.report import PlanReport
from optimizer.plan.record.simulation import Simulation
from optimizer.report.exits import Answered
from optimizer.serve.jobs.options import (
    CompareOptions,
    FrontierOptions,
    GateOptions,
    Limited,
    Options,
    PlanOptions,
    PredictOptions,
    SimulateOptions,
    WhyNotOptions,
)


@dataclass(frozen=True)
class Asked:
    """A question with all that its answer takes.

    Attributes:
        file: The scenario, known to fit the catalogs; None where the question is about none.
        catalogs: What is known.
        options: As the kind declares them.
        progress: Told the name of each step as it begins.
        best_and_bound: Told what the best plan so far costs a month, and what no plan undercuts.
        max_memory_gb: What the process may hold before a search ends.
    """

    file: ScenarioFile | None
    catalogs: Catalogs
    options: Any
    progress: Progress | None = None
    best_and_bound: BestAndBound | None = None
    max_memory_gb: float | None = None

    @property
    def scenario(self) -> Scenario:
        """As it was read."""
        return self.scenario_file.scenario

    @property
    def scenario_file(self) -> ScenarioFile:
        """The scenario with its lines."""
        if self.file is None:
            raise ValueError("this kind of question is about no scenario")
        return self.file

    @property
    def within(self) -> dict[str, Any]:
        """The limits of the search, and who is told how it goes."""
        limits = {"time_limit_s": self.options.time_limit_s, "work_limit": self.options.work_limit}
        return {**limits, "progress": self.progress}


@dataclass(frozen=True)
class JobKind:
    """How one kind of question is answered.

    Attributes:
        about: What it answers, in a line.
        options: What may be asked beside the scenario.
        shape: What the answer is.
        steps: The names of its steps, in order.
        answer: From the question to the answer.
        of_scenario: Whether it is asked of a scenario.
    """

    about: str
    options: type[Options]
    shape: type[BaseModel]
    steps: Callable[[Asked], Sequence[str]]
    answer: Callable[[Asked], Answered]
    of_scenario: bool = True


def _plan(asked: Asked) -> PlanReport:
    report = optimize(
        asked.scenario,
        asked.catalogs,
        **asked.within,
        max_memory_gb=asked.max_memory_gb,
        best_and_bound=asked.best_and_bound,
        thorough=asked.options.verbose,
    )
    return located(report, asked.scenario_file)


def _why_not(asked: Asked) -> WhyNot:
    choice = Choice(**asked.options.model_dump(exclude=set(Limited.model_fields)))
    return why_not(asked.scenario, asked.catalogs, choice, **asked.within)


def _frontier(asked: Asked) -> Frontier:
    sweeps = [sweep_of(text, asked.scenario) for text in asked.options.sweep]
    return frontier(asked.scenario, asked.catalogs, sweeps, **asked.within)


def _frontier_steps(asked: Asked) -> Sequence[str]:
    return frontier_steps([sweep_of(text, asked.scenario) for text in asked.options.sweep])


def _compare(asked: Asked) -> Comparison:
    return compare(asked.scenario, asked.catalogs, asked.options.by, **asked.within)


def _simulate(asked: Asked) -> Simulation:
    options = asked.options
    arrivals = arrivals_of(options.arrivals, None)
    if options.plan is None:
        report, scenario = optimize(asked.scenario, asked.catalogs, **asked.within), asked.scenario
    else:
        report, scenario = plan_of(options.plan, "plan", asked.catalogs)
    return simulate(
        report,
        scenario,
        asked.catalogs,
        arrivals,
        confidence=options.confidence,
        requests=options.requests,
        seeds=options.seeds,
        lengths=options.lengths,
        by_chance=options.by_chance,
        router=options.router,
        lose_instance=options.lose_instance,
        lose_region=options.lose_region,
        lose_spot=options.lose_spot,
        lost_minutes=options.lost_minutes,
        autoscale=options.autoscale,
    )


def _gate(asked: Asked) -> GateReport:
    options = asked.options
    limits = GateLimits(**options.model_dump(exclude={"baseline", "time_limit_s", "work_limit"}))
    before = None if options.baseline is None else (baseline_in(json.dumps(options.baseline), "baseline"),)
    return gate([asked.scenario_file], asked.catalogs, limits, before, **asked.within)


def _lifecycle(asked: Asked) -> LifecycleReport:
    with asked.scenario_file.naming_lines():
        return lifecycle(asked.scenario, asked.catalogs, **asked.within)


def _lifecycle_steps(asked: Asked) -> Sequence[str]:
    life = asked.scenario.lifecycle
    return [phase_of(month) for month in range(1, (life.months if life else 0) + 1)]


def _predict(asked: Asked) -> Prediction:
    options = asked.options
    if (options.concurrency is None) == (options.request_rate is None):
        raise InputError([Finding("predict", 0, "concurrency", "give either this or request_rate")])
    one = options.model_dump(exclude={"concurrency", "request_rate"})
    load = "request_rate" if options.concurrency is None else "concurrency"
    setting = Setting(**one, load_type=load, load_value=options.concurrency or options.request_rate or 0)
    return predict_setting(setting, asked.catalogs)


KINDS: Final[Mapping[str, JobKind]] = {
    "plan": JobKind(
        "The cheapest plan that meets the scenario, with its proof and explanation.",
        PlanOptions,
        PlanReport,
        lambda _: OPTIMIZE_PHASES,
        _plan,
    ),
    "why-not": JobKind(
        "What a choice would cost against the plan and why, or what it fails.",
        WhyNotOptions,
        WhyNot,
        lambda _: WHY_NOT_PHASES,
        _why_not,
    ),
    "frontier": JobKind(
        "Cost against a requirement or two, each point proven, and the values where the plan changes.",
        FrontierOptions,
        Frontier,
        _frontier_steps,
        _frontier,
    ),
    "compare": JobKind(
        "The best plan under each choice, ranked by cost, and what stops the others.",
        CompareOptions,
        Comparison,
        lambda _: COMPARE_PHASES,
        _compare,
    ),
    "simulate": JobKind(
        "The percentiles of a plan, or of a scenario's, when requests really arrive, one by one.",
        SimulateOptions,
        Simulation,
        lambda asked: OPTIMIZE_PHASES if asked.options.plan is None else (),
        _simulate,
    ),
    "gate": JobKind(
        "Whether a budget holds and prices are sound.",
        GateOptions,
        GateReport,
        lambda asked: [asked.scenario.name],
        _gate,
    ),
    "lifecycle": JobKind(
        "Training and serving cost by month, and the month in which serving overtakes training.",
        Limited,
        LifecycleReport,
        _lifecycle_steps,
        _lifecycle,
    ),
    "predict": JobKind(
        "What a configuration delivers: TTFT, TPOT and throughput with their 90 % intervals.",
        PredictOptions,
        Prediction,
        lambda _: (),
        _predict,
        of_scenario=False,
    ),
}
