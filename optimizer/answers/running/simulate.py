"""`simulate`: what a plan's percentiles are when requests really arrive."""

from pathlib import Path
from typing import Final

import numpy as np

from optimizer.answers.verify import plan_in
from optimizer.base.arguments import check_within
from optimizer.base.errors import Finding, InputError
from optimizer.base.figures import exactly
from optimizer.base.files import read_json
from optimizer.inputs.catalog.entries.terms import Terms
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.demand import DAYS_PER_WEEK, RequestLengths
from optimizer.inputs.scenario.profile_lengths import lengths_of_profile
from optimizer.inputs.scenario.scenario import Scenario, Workload
from optimizer.inputs.scenario.tables import requests_of_trace
from optimizer.performance.simulation.dealing import Dealing
from optimizer.plan.record.report import PlanReport
from optimizer.plan.record.simulation import Simulation
from optimizer.plan.simulate.arriving import Arrivals
from optimizer.plan.simulate.losing import SimulatedLoss
from optimizer.plan.simulate.simulated import simulated
from optimizer.plan.verify.claim import Claim

DEFAULT_REQUESTS: Final = 50_000
DEFAULT_SEEDS: Final = 1
MOST_REQUESTS, MOST_SEEDS = 10_000_000, 1000
PARTS_OF_TIME: Final = 12
"""In which it is told what requests met."""
PARTS_OF_DAY: Final = 24
"""The same of a week."""
GAMMA: Final = "gamma:"
RAMP: Final = "ramp:"
TOGETHER: Final = "together:"
WEEK: Final = "week"
FORMS: Final = (
    "poisson, gamma:CV2 with CV2 the squared variation of the gaps, ramp:FROM-TO in multiples of the plan's rate, "
    "together:SECONDS for requests that come at once every so often, week or "
    "week:DAYS for the scenario's own hours from Monday on, or trace"
)
MOST_CV2: Final = 1000.0
MOST_RAMP: Final = 100.0
MOST_SECONDS: Final = 86_400.0


def simulate(
    report: PlanReport,
    scenario: Scenario,
    catalogs: Catalogs,
    arrivals: Arrivals | None = None,
    *,
    confidence: float | None = None,
    requests: int = DEFAULT_REQUESTS,
    seeds: int = DEFAULT_SEEDS,
    lengths: str | None = None,
    by_chance: bool = False,
    router: Dealing | None = None,
    lose_instance: bool = False,
    lose_region: str | None = None,
    lose_spot: bool = False,
    lost_minutes: float | None = None,
    autoscale: float | None = None,
) -> Simulation:
    """Serves simulated requests with a plan, in the hours in which its replicas have most to do.

    Args:
        report: The plan.
        scenario: What it was made for.
        catalogs: Those that it was made from.
        arrivals: How requests arrive; as the scenario says for each workload unless said otherwise.
        confidence: Step times are the bound that is this likely to be kept; the scenario's own unless given, 0.5 for
            the central prediction.
        requests: Of each workload and seed, at least.
        seeds: How often the whole is repeated with other luck.
        lengths: The profile of the catalogs whose lengths requests have, instead of the scenario's.
        by_chance: Whether requests go to any replica at random, whatever the policy says.
        router: What sends requests to replicas, whatever the policy says: what a policy may say, or `prefix_aware` to
            the one that has most of a prompt, of traces that say the blocks of prompts.
        lose_instance: Whether an instance of each workload is lost at half of the time, until another has started; all
            promises are then those to requests that come meanwhile.
        lose_region: The same of all replicas in a region, by its name or with its provider before it.
        lose_spot: The same of all spot replicas of a workload in one provider's region, those that are sent most.
        lost_minutes: For how long; what the scenario says of it, or the start of a server, unless given.
        autoscale: Over the days of a week, replicas are added and removed by what arrived, as Kubernetes' autoscaler
            does it, so that this share of what they sustain is used; beside it the plan's own schedule, every replica
            ready in time.

    Returns:
        What each class of requests meets, with intervals, and a verdict for each promise.

    Raises:
        InputError: there is no plan to simulate, no replicas in it, or none that would be lost; nobody says for how
            long; a profile that nobody knows, beside a trace or for a workload of several classes; two routers, or one
            that looks at prompts of which nobody knows the blocks.
    """
    check_within(
        "simulate",
        confidence=(confidence, 0.5, 0.999),
        requests=(requests, 1, MOST_REQUESTS),
        seeds=(seeds, 1, MOST_SEEDS),
        lost_minutes=(lost_minutes, 0.1, 10_000),
        autoscale=(autoscale, 0.05, 1),
    )
    if report.monthly_cost_usd is None:
        problem = f"there is no plan to simulate: the outcome is {report.outcome}"
        raise InputError([Finding("plan", 0, "monthly_cost_usd", problem, "simulate one that has deployments")])
    if not report.deployments:
        sold = ", ".join(f"{item.workload}: {item.api} at {item.provider}" for item in report.hosted)
        problem = f"nothing of the plan can be simulated: {sold}"
        raise InputError([Finding("plan", 0, "deployments", problem, "simulate one that has deployments")])
    loss = _loss(
        report,
        catalogs.terms,
        lose_instance=lose_instance,
        lose_region=lose_region,
        lose_spot=lose_spot,
        lost_minutes=lost_minutes,
    )
    if loss is not None and arrivals is not None and arrivals.days is not None:
        problem = "replicas are lost in the busiest hours, not in a week"
        raise InputError([Finding(f"--lose-{loss.of}", 0, "", problem, "simulate one of the two")])
    if autoscale is not None and (arrivals is None or arrivals.days is None):
        problem = "the hours with most to do have always as many replicas"
        raise InputError([Finding("--autoscale", 0, "", problem, "simulate days: --arrivals week or week:DAYS")])
    level = scenario.policy.confidence if confidence is None else confidence
    asked = scenario if lengths is None else _of_lengths(scenario, lengths, catalogs, arrivals)
    found = simulated(
        Claim(asked, catalogs, report.fleet),
        arrivals,
        confidence=level,
        requests=requests,
        seeds=seeds,
        router=_dealing(by_chance, router, _knows_prompts(asked, arrivals)),
        parts=PARTS_OF_TIME if arrivals is None or arrivals.days is None else PARTS_OF_DAY * arrivals.days,
        loss=loss,
        autoscale=autoscale,
    )
    return found.model_copy(update={"lengths": lengths})


def _knows_prompts(scenario: Scenario, arrivals: Arrivals | None) -> bool:
    """Whether anything says the blocks of prompts: the trace that is sent, or the one that a workload was read from."""
    if arrivals is not None:
        return arrivals.recorded is not None and arrivals.recorded.blocks is not None
    kept = [workload.arrivals.recorded for workload in scenario.workloads if workload.arrivals is not None]
    return any(each is not None and each.block_tokens is not None for each in kept)


def _dealing(by_chance: bool, router: Dealing | None, knows_prompts: bool) -> Dealing | None:
    """What sends requests to replicas; None for what the policy says."""
    if by_chance and router is not None:
        raise InputError([Finding("--router", 0, "", "--by-chance says another", "give one of the two")])
    if router == "prefix_aware" and not knows_prompts:
        problem = "nobody knows what prompts have in common"
        hint = "give a trace that says their blocks: --trace FILE.jsonl with hash_ids"
        raise InputError([Finding("--router", 0, "prefix_aware", problem, hint)])
    return "by_chance" if by_chance else router


def _of_lengths(scenario: Scenario, name: str, catalogs: Catalogs, arrivals: Arrivals | None) -> Scenario:
    """The scenario whose requests have the lengths of a profile, its classes called as in the plan."""
    lengths = lengths_of_profile(name, catalogs)
    if arrivals is not None and arrivals.recorded is not None:
        raise InputError([Finding("--lengths", 0, "", "the trace has lengths of its own", "give one of the two")])
    several = [workload.name for workload in scenario.workloads if len(workload.classes()) > 1]
    if several:
        problem = f"each class of {', '.join(several)} has lengths of its own"
        raise InputError([Finding("--lengths", 0, "", problem, "simulate a trace with --trace FILE")])
    workloads = tuple(_with_lengths(workload, lengths) for workload in scenario.workloads)
    return scenario.model_copy(update={"workloads": workloads})


def _with_lengths(workload: Workload, lengths: tuple[RequestLengths, ...]) -> Workload:
    """The workload whose requests are drawn with those lengths, whatever was recorded of them."""
    arrivals = workload.arrivals and workload.arrivals.model_copy(update={"recorded": None})
    (requests,) = workload.classes()
    drawn = {"request_classes": (requests.model_copy(update={"lengths": lengths}),), "arrivals": arrivals}
    return workload.model_copy(update=drawn)


def _loss(
    report: PlanReport,
    terms: Terms,
    *,
    lose_instance: bool,
    lose_region: str | None,
    lose_spot: bool,
    lost_minutes: float | None,
) -> SimulatedLoss | None:
    """What is lost, of which a plan has some."""
    asked = [SimulatedLoss("instance", minutes=lost_minutes)] * lose_instance
    asked += [SimulatedLoss("spot", minutes=lost_minutes)] * lose_spot
    asked += [] if lose_region is None else [SimulatedLoss("region", lose_region, minutes=lost_minutes)]
    if lost_minutes is not None and not asked:
        problem = "nothing is lost that would last so long"
        losses = "say what: --lose-instance, --lose-region REGION or --lose-spot"
        raise InputError([Finding("--lost-minutes", 0, "", problem, losses)])
    if len(asked) > 1:
        names = " and ".join(f"--lose-{each.of}" for each in asked)
        raise InputError([Finding("simulate", 0, "", f"{names} are two losses", "simulate one at a time")])
    for loss in asked:
        if not any(loss.takes(d, terms) for d in report.deployments):
            where = sorted({f"{d.provider}/{d.region}" for d in report.deployments})
            problem = f"the plan has nothing there; its regions: {', '.join(where)}"
            if loss.of == "spot":
                problem = "the plan has no spot instances"
            raise InputError([Finding(f"--lose-{loss.of}", 0, "", problem, "lose what the plan has")])
    return asked[0] if asked else None


def is_plan(path: Path) -> bool:
    """Whether a file holds a plan rather than a scenario."""
    try:
        content = read_json(path)
    except InputError:
        return False
    return isinstance(content, dict) and "schema_version" in content


def planned(path: Path, catalogs: Catalogs) -> tuple[PlanReport, Scenario]:
    """The plan in a file, with the scenario it was made for.

    Raises:
        InputError: the file holds no plan of this version, or one of other catalogs.
    """
    return plan_in(path, catalogs)


def arrivals_of(text: str | None, trace: Path | None) -> Arrivals | None:
    """How requests arrive, from a word for it.

    Args:
        text: `poisson`, `gamma:CV2` with CV2 the squared variation of the gaps, `ramp:FROM-TO` in multiples of the
            rate, `together:SECONDS` for requests that come at once every so many, `week:DAYS` for the scenario's own
            hours from Monday on, `week` for seven days of them, or `trace`.
        trace: The file of a trace: a table of arrived_at_s, input_tokens, output_tokens, or lines of JSON with
            timestamp, input_length, output_length, and the blocks of prompts as hash_ids.

    Returns:
        What `simulate` takes; None where neither is given, which leaves it to the scenario.

    Raises:
        InputError: another form, a variation out of range, or a trace without a file.
    """
    if text == "trace" or trace is not None:
        if trace is None:
            raise InputError([Finding("--arrivals", 0, "", "trace needs a file", "name it with --trace FILE")])
        return Arrivals(recorded=requests_of_trace(trace))
    if text is None:
        return None
    if text == "poisson":
        return Arrivals()
    if text.startswith(GAMMA):
        return Arrivals(cv2=_number(text, text.removeprefix(GAMMA), MOST_CV2, "the squared variation"))
    if text.startswith(TOGETHER):
        return Arrivals(every_s=_number(text, text.removeprefix(TOGETHER), MOST_SECONDS, "the seconds between crowds"))
    if text in (WEEK, *(f"{WEEK}:{days}" for days in range(1, DAYS_PER_WEEK + 1))):
        return Arrivals(days=int(text.removeprefix(WEEK).removeprefix(":") or DAYS_PER_WEEK))
    if text.startswith(RAMP):
        first, _, last = text.removeprefix(RAMP).partition("-")
        ends = (_number(text, each, MOST_RAMP, "each end of a ramp") for each in (first, last))
        return Arrivals(ramp=(next(ends), next(ends)))
    raise InputError([Finding("--arrivals", 0, "", f"'{text}' is no way to arrive", FORMS)])


def _number(text: str, written: str, most: float, what: str) -> float:
    """A number above 0 in a word for how requests arrive."""
    try:
        value = float(written)
    except ValueError:
        value = float("nan")
    if not (np.isfinite(value) and 0 < value <= most):
        problem = f"'{text}': {what} is a number above 0, at most {exactly(most)}"
        raise InputError([Finding("--arrivals", 0, "", problem, FORMS)])
    return value
