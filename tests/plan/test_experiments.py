"""What a benchmark run is worth: by brute force over every fleet, and what the run itself costs."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cache, lru_cache
from itertools import product
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import pytest

from optimizer.base.clock import Clock, LimitReached
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.policy import Policy
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.options import limits_of
from optimizer.performance.candidates.pools import mix_of
from optimizer.performance.candidates.predict import sustainable_rate
from optimizer.performance.physics.constants import Calibration
from optimizer.performance.physics.setup import Configuration, gather
from optimizer.performance.uncertainty.evidence import PAIRED, Margins, margins, named_pairs, unmeasured, unseen
from optimizer.performance.uncertainty.intervals import planning_share
from optimizer.performance.uncertainty.likeness import shares_of
from optimizer.plan.benchmark.runs import BenchmarkRun, runs_of
from optimizer.plan.experiment.price import price_of
from optimizer.plan.experiment.prospects import Prospects
from optimizer.plan.experiment.trials import Trials, tried
from optimizer.plan.question.asking import answered
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.readback import read_back

CARDS = {"l40s", "l40", "rtx6000ada"}
RESULTS = (0.1, 0.3, 0.5, 0.7, 0.9)
HOURS = 730
NORMAL = NormalDist()
MODEL, PRECISIONS = "llama-3.1-8b", ("fp8", "int8")
CHAT = {
    "name": "chat", "model": MODEL, "input_tokens": 1000, "output_tokens": 300, "unknown_quality": "accept",
}  # fmt: skip
PLAIN = {
    "simplicity_percent": 0, "engines": ["vllm"], "precisions": PRECISIONS, "kv_precisions": ["bf16"],
}  # fmt: skip


def asked(requests_per_second: float, tpot_ms: float = 23, ttft_ms: float = 3000, **policy: Any) -> Scenario:
    """What limits cards is how fast a token is to come: what a run at a rate tells of."""
    workload = CHAT | {"requests_per_second": requests_per_second, "slo": {"ttft_ms": ttft_ms, "tpot_ms": tpot_ms}}
    return Scenario.model_validate({"name": "worth", "workloads": [workload], "policy": PLAIN | policy})


@pytest.fixture(scope="module")
def few(catalogs: Catalogs) -> Catalogs:
    """Single cards of one seller, measured and not."""
    secure = {f"secure-{gpu}" for gpu in CARDS}
    offers = [o for o in catalogs.offers if o.provider == "runpod" and o.instance_type in secure and o.gpu_count == 1]
    return replace(catalogs, offers=tuple(o for o in offers if o.pricing_term == "on_demand"))


CASES = [(1.2, "accept"), *((rate, speed) for rate in (3.3, 8.2, 21.0) for speed in ("avoid", "accept"))]
TOLD_BY_A_TWIN = (1.28, "accept")
"""What no plan runs would tell of a card that the plan runs, by a neighbour's error in common with it."""


@pytest.fixture(scope="module")
def worked_out(few: Catalogs) -> Callable[[float, str], tuple[Prospects, Trials]]:
    """Each case once."""

    def of(requests_per_second: float, speed: str) -> tuple[Prospects, Trials]:
        prospects = prospects_of(asked(requests_per_second, unmeasured_performance=speed), few)
        return prospects, tried(prospects)

    return lru_cache(maxsize=None)(of)


def prospects_of(scenario: Scenario, catalogs: Catalogs) -> Prospects:
    answer = answered(Inquiry.of(scenario, catalogs))
    return Prospects.of(answer.inquiry.beside_a_plan(Clock(), answer.complexity), answer, read_back(answer))


class Way(NamedTuple):
    """One configuration on the cheapest card of its kind."""

    gpu: str
    precision: str


def _configuration(way: Way) -> Configuration:
    return Configuration("vllm", MODEL, way.gpu, way.precision, "bf16", 1, 1, "none")


Rates = Mapping[Way, float]
Fleet = Mapping[Way, int]


class Physics:
    """What single cards sustain, from the physics alone, whatever is asked of them all."""

    def __init__(self, catalogs: Catalogs) -> None:
        self.scenario, self.catalogs = asked(1.0), catalogs
        self.confidence = self.scenario.policy.confidence
        self.ways = [
            Way(gpu, precision) for gpu in sorted({o.gpu for o in catalogs.offers}) for precision in PRECISIONS
        ]
        self.calibration = Calibration.of(catalogs.calibration)
        self.shares = shares_of(catalogs.deployment_shares)
        self.planned = {way: self.margins(way, self.confidence) for way in self.ways}
        self.doubted = {way: self.margins(way, 0.9) for way in self.ways}
        self.setup = {way: gather(catalogs, [_configuration(way)]) for way in self.ways}
        self.unmeasured = {way for way in self.ways if unmeasured(catalogs, [_configuration(way)])[0]}
        self.sustained = cache(self._sustained)

    def margins(self, way: Way, confidence: float) -> Margins:
        return margins(self.catalogs, [_configuration(way)], confidence)

    def _sustained(self, way: Way, run: Way | None, result: float) -> float:
        """Requests/s of one card: as planned today, or once a run of the same or another had a result.

        What was shown of TPOT is of every step, as the doubt that is left is, and so of requests a second; what was
        shown of TTFT is of all of it, so only what it is beside longer steps moves the limit.
        """
        workload, left = self.scenario.workloads[0], self.planned[way]
        if run is not None:
            shown, left = self.after(way, run, result)
            step = shown["tpot"]
            left = replace(left, tpot=left.tpot * step, ttft=left.ttft * step)
            (workload,) = asked(1.0, ttft_ms=3000 * step / shown["ttft"]).workloads
        limits = limits_of(workload, left, np.zeros(1))
        return float(sustainable_rate(self.setup[way], mix_of(workload, [0], np.ones(1)), limits).rate_per_s[0])

    def after(self, way: Way, run: Way, result: float) -> tuple[dict[str, float], Margins]:
        """What a run shows, as far as the two have errors in common, and the room left; of the most served nothing."""
        level = "configuration" if way == run else "model"
        moved, found = dict[str, float](), {"throughput": self.planned[way].throughput}
        for metric in ("ttft", "tpot"):
            common = self.shares[metric, level]
            shown = NORMAL.inv_cdf(result) * math.log(vars(self.doubted[run])[metric][0]) / NORMAL.inv_cdf(0.9)
            width = math.log(vars(self.doubted[way])[metric][0]) / self.share(way, metric, 0.9)
            left = self.shares[metric, "spread"] * math.sqrt(1 - common**2)
            author = self.calibration.lookup("interval_unseen", f"{metric}@author")
            width = min(width, min(left, 1) * math.hypot(width, author))
            share = self.share(way, metric, self.confidence)
            moved[metric], found[metric] = math.exp(common * shown), np.array([math.exp(share * width)])
        return moved, Margins(**found)

    def share(self, way: Way, metric: str, confidence: float) -> float:
        """The part of a width that is left as room for a way, by whether something of it was not measured."""
        configuration = _configuration(way)
        fields = {name: [getattr(configuration, name)] for name in PAIRED}
        missing = unseen(self.catalogs, named_pairs(self.catalogs, **fields))[metric]
        return float(planning_share(self.calibration, metric, confidence, missing)[0])


class Oracle:
    """Every fleet of single cards, counted."""

    def __init__(self, scenario: Scenario, physics: Physics) -> None:
        self.scenario, self.physics, self.ways = scenario, physics, physics.ways
        offers = physics.catalogs.offers
        self.usd = {
            gpu: min(float(o.price_usd_per_hour) for o in offers if o.gpu == gpu) * HOURS
            for gpu in {o.gpu for o in offers}
        }
        self.today = {way: self.rate(way, None) for way in self.ways}

    def rate(self, way: Way, run: Way | None, result: float = 0.5) -> float:
        """Requests/s that one card may be sent, as far as the policy rents it."""
        policy = self.scenario.policy
        if run != way and policy.unmeasured_performance == "avoid" and way in self.physics.unmeasured:
            return 0.0
        return self.physics.sustained(way, run, result) * policy.max_utilization

    def fleets(self, ways: Sequence[Way], rates: Rates) -> Iterator[tuple[float, Fleet]]:
        """All that carry the demand and have no more of a card than carry it alone, with their month in USD."""
        demand = self.scenario.workloads[0].requests_per_second or 0.0
        for counts in product(*(range(math.ceil(demand / rates[way]) + 1) for way in ways)):
            fleet = dict(zip(ways, counts, strict=True))
            if sum(n * rates[way] for way, n in fleet.items()) >= demand:
                yield sum(n * self.usd[way.gpu] for way, n in fleet.items()), fleet

    def best(self, ways: Sequence[Way], rates: Rates) -> tuple[float, Fleet]:
        """Of one card the faster way is as good as both."""
        fastest = [max((w for w in ways if w.gpu == gpu), key=lambda w: rates[w]) for gpu in {w.gpu for w in ways}]
        return min(self.fleets([way for way in sorted(fastest) if rates[way] > 0], rates), key=lambda pair: pair[0])

    def after(self, run: Way, result: float) -> dict[Way, float]:
        """Requests/s of each card once a run had a result, which tells of its neighbours on the same card, too."""
        neighbours = [each for each in self.ways if each.gpu == run.gpu]
        return {**self.today, **{each: self.rate(each, run, result) for each in neighbours}}

    def runs_nowhere(self, way: Way) -> bool:
        """Whether a cheapest fleet does without a way, whatever a run of it shows."""
        others = [each for each in self.ways if each != way]
        costs = [[self.best(ways, self.after(way, result))[0] for ways in (self.ways, others)] for result in RESULTS]
        return all(without == pytest.approx(cheapest) for cheapest, without in costs)

    def saves(self, way: Way, plan: Fleet, usd: float) -> tuple[float, int, int]:
        """A month on average, the results in which the plan changes, and those in which it was too small."""
        demand = self.scenario.workloads[0].requests_per_second or 0.0
        total, changes, small = 0.0, 0, 0
        for result in RESULTS:
            rates = self.after(way, result)
            knowing, _ = self.best(self.ways, rates)
            holds = sum(n * rates[own] for own, n in plan.items()) >= demand
            blind = usd if holds else self.best(list(plan), rates)[0]
            total += max(blind - knowing, 0.0)
            small += not holds
            changes += not holds or knowing < usd - 0.01
        return total / len(RESULTS), changes, small


@pytest.fixture(scope="module")
def physics(few: Catalogs) -> Physics:
    return Physics(few)


@pytest.mark.parametrize(("requests_per_second", "speed"), [*CASES, TOLD_BY_A_TWIN])
def test_a_run_is_worth_what_brute_force_says(
    requests_per_second: float,
    speed: str,
    physics: Physics,
    worked_out: Callable[[float, str], tuple[Prospects, Trials]],
) -> None:
    prospects, found = worked_out(requests_per_second, speed)
    oracle = Oracle(prospects.today.scenario, physics)
    usd = float(prospects.bought.monthly_cost_usd)
    assert usd == pytest.approx(oracle.best(oracle.ways, oracle.today)[0])
    plan = {Way(d.gpu, d.precision): d.replicas for d in prospects.bought.deployments}
    by_way = {Way(trial.subject.gpu, trial.subject.precision): trial for trial in found.found}
    assert set(plan) <= set(by_way)
    for way in oracle.ways:
        saves, changes, small = oracle.saves(way, plan, usd)
        if way not in by_way:
            assert oracle.runs_nowhere(way)
            if way.gpu not in {own.gpu for own in plan}:
                assert saves == pytest.approx(0.0, abs=0.01)
            continue
        trial = by_way[way]
        assert float(trial.expected_usd) == pytest.approx(saves, abs=0.02)
        assert trial.chance_of_change == pytest.approx(changes / len(RESULTS))
        assert trial.chance_too_small == pytest.approx(small / len(RESULTS))
    assert found.left_usd == 0


def test_what_no_plan_runs_is_not_measured_to_learn_of_what_one_runs(
    physics: Physics, worked_out: Callable[[float, str], tuple[Prospects, Trials]]
) -> None:
    """A bad run of a twin leaves more doubt of the plan's own card than one of that card, so it seems worth more."""
    prospects, found = worked_out(*TOLD_BY_A_TWIN)
    oracle = Oracle(prospects.today.scenario, physics)
    plan = {Way(d.gpu, d.precision): d.replicas for d in prospects.bought.deployments}
    (own,) = plan
    twin = next(way for way in oracle.ways if way.gpu == own.gpu and way != own)
    assert twin not in {Way(trial.subject.gpu, trial.subject.precision) for trial in found.found}
    usd = float(prospects.bought.monthly_cost_usd)
    assert oracle.saves(twin, plan, usd)[0] > oracle.saves(own, plan, usd)[0] > 0


def test_those_cases_differ_enough_to_mean_something(
    worked_out: Callable[[float, str], tuple[Prospects, Trials]],
) -> None:
    """A run that saves, one that finds the plan too small, one of which it depends."""
    trials = [worked_out(*case)[1] for case in CASES]
    every = [trial for each in trials for trial in each.found]
    assert any(trial.chance_too_small > 0 for trial in every)
    assert any(trial.expected_usd > 0 and not trial.in_plan for trial in every)
    assert any(0 < trial.chance_of_change < 1 for trial in every)


def test_where_more_of_the_same_keeps_no_promise_nothing_is_saved(few: Catalogs) -> None:
    """One token in 15.8 ms is as fast as the card goes: were it slower than predicted, any number is too slow."""
    prospects = prospects_of(asked(1.0, tpot_ms=15.8), few)
    (trial,) = [trial for trial in tried(prospects).found if trial.in_plan]
    worst = trial.by_result[-1]
    assert (worst.too_small, worst.blind_usd, worst.saved_usd) == (True, None, Decimal(0))
    assert trial.chance_too_small == pytest.approx(0.4)


@pytest.fixture(scope="module")
def run(few: Catalogs) -> BenchmarkRun:
    scenario = asked(3.0)
    return runs_of(scenario, few, prospects_of(scenario, few).bought)[0]


def _of(run: BenchmarkRun, **changes: object) -> BenchmarkRun:
    return replace(run, d=run.d.model_copy(update=changes))


def test_a_run_is_billed_from_its_start(run: BenchmarkRun, few: Catalogs) -> None:
    policy = Policy.model_validate({"elastic": {"start_up_minutes": 30}})
    long = replace(run, requests=math.ceil(run.rate_per_s * 3600))
    price = price_of([long], policy, few)
    assert price.hours == pytest.approx(1.5 + 20 / run.rate_per_s / 3600, rel=1e-3)
    assert float(price.usd) == pytest.approx(price.hours * float(run.d.price_usd_per_hour), abs=0.01)


def test_a_run_pays_the_least_time_that_is_billed_for_every_instance(run: BenchmarkRun, few: Catalogs) -> None:
    spread = _of(run, gpus_per_replica=16, gpus_per_instance=8)
    price = price_of([spread], Policy.model_validate({"elastic": {"minimum_billing_hours": 24}}), few)
    assert (price.hours, price.instances) == (24.0, 2)
    assert price.usd == 48 * run.d.price_usd_per_hour


def test_what_is_committed_to_is_rented_on_demand_where_that_is_sold(run: BenchmarkRun, few: Catalogs) -> None:
    committed = {"pricing_term": "reserved_1y", "commitment_months": 12, "price_usd_per_hour": Decimal("0.1")}
    price = price_of([_of(run, **committed)], Policy(), few)
    assert (price.pricing_term, price.hours) == ("on_demand", 1.0)
    assert price.usd == pytest.approx(run.d.price_usd_per_hour, abs=Decimal("0.005"))
    elsewhere = price_of([_of(run, provider="nobody", **committed)], Policy(), few)
    assert (elsewhere.pricing_term, elsewhere.usd) == ("reserved_1y", Decimal("876.00"))


def test_what_simplicity_costs_today_is_no_saving_of_a_run(few: Catalogs) -> None:
    """The cheapest plan of today saves its part without any run; a plan that has more to operate gives that up, too."""
    prospects = prospects_of(asked(14.0, unmeasured_performance="accept", simplicity_percent=4), few)
    forgone_usd = prospects.bought.monthly_cost_usd - prospects.cheapest_usd
    assert forgone_usd > 0
    changed = [result for trial in tried(prospects).found for result in trial.by_result if result.changes]
    assert any(result.without_usd == forgone_usd for result in changed)
    for result in changed:
        assert result.knowing_usd is not None
        assert result.blind_usd is not None
        assert result.saved_usd == result.blind_usd - result.without_usd - result.knowing_usd


def test_what_is_left_out_is_bounded_by_proof_and_not_by_the_plan_found(
    few: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    prospects = prospects_of(asked(8.0), few)
    others, below_usd = prospects.could_win([])
    assert others
    proven = prospects.bought.monthly_cost_usd - below_usd

    def far_from_proven(*asked: Any) -> Answer:
        answer = solved(*asked)
        return replace(answer, solution=replace(answer.solution, bound_usd_per_month=float(proven) - 50))

    monkeypatch.setattr("optimizer.plan.experiment.prospects.solved", far_from_proven)
    assert prospects.could_win([]) == (others, below_usd + 50)
    every = [subject for names in prospects.subjects for subject in names.categories]
    nothing, open_usd = prospects.could_win(every)
    assert (nothing, open_usd > 0) == ([], True)


def test_more_of_the_same_calls_no_api_that_the_plan_does_not(few: Catalogs) -> None:
    """A plan of cards alone where APIs are admitted, too."""
    prospects = prospects_of(asked(8.0), few)
    open_to_apis = prospects.today.under_policy(hosting=("rented", "serverless"), precisions=(), kv_precisions=())
    assert prospects.bought.hosted == ()
    assert open_to_apis.formulated().apis
    own, keep = prospects._more_of_the_same(open_to_apis)
    assert own.formulated(keep).apis == ()


def test_a_plan_that_buys_and_runs_the_same_is_no_change(few: Catalogs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where more of the same is not found, though today's plan holds, that plan is not too small."""
    prospects = prospects_of(asked(8.0), few)
    (subject,) = prospects.running
    today = solved(prospects.today)
    monkeypatch.setattr("optimizer.plan.experiment.prospects.solved", lambda _, keep=None: _without(today, keep))
    assert not prospects.prospect(subject, len(RESULTS) - 1).changes


def _without(answer: Answer, keep: object) -> Answer:
    """The answer to a whole question, and none to one over a part of the configurations."""
    if keep is None:
        return answer
    return replace(answer, solution=replace(answer.solution, cost_usd_per_month=None))


def test_hardware_of_ones_own_is_paid_for_already(run: BenchmarkRun, few: Catalogs) -> None:
    price = price_of([_of(run, pricing_term="owned", provider="owned")], Policy(), few)
    assert (price.usd, price.pricing_term) == (0, "owned")


def test_of_several_deployments_a_run_is_made_where_it_costs_least(catalogs: Catalogs) -> None:
    """The dearer seller, on which most money rests, bills a whole day; of the other's cards there are too few."""
    of_provider = {"aws": "g6e.xlarge", "runpod": "secure-l40s"}
    offers = tuple(o for o in catalogs.offers if of_provider.get(o.provider) == o.instance_type)
    offers = tuple(o for o in offers if o.pricing_term == "on_demand" and o.region in ("us-east-1", "global"))
    quotas = [{"provider": "runpod", "max_gpus": 1}]
    elastic = {"minimum_billing_hours": {"aws": 24}}
    prospects = prospects_of(asked(8.0, tpot_ms=60, quotas=quotas, elastic=elastic), replace(catalogs, offers=offers))
    assert {d.provider for d in prospects.bought.deployments} == {"aws", "runpod"}
    (trial,) = [trial for trial in tried(prospects).found if trial.in_plan and trial.decides is None]
    assert (trial.runs[0].d.provider, trial.price.hours) == ("runpod", 1.0)


def test_what_the_plan_runs_is_named_where_the_clock_left_it_out(
    few: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    prospects = prospects_of(asked(8.0), few)

    def late(*_: object) -> None:
        raise LimitReached("time limit")

    monkeypatch.setattr("optimizer.plan.experiment.trials._try", late)
    cut = tried(prospects)
    assert (cut.found, cut.untried) == ([], prospects.running)
