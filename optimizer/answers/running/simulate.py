"""`simulate`: what a plan's percentiles are when requests really arrive."""

from typing import Final

from optimizer.base.arguments import check_within
from optimizer.base.errors import Finding, InputError
from optimizer.inputs.catalog.entries.terms import Terms
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.demand import RequestLengths
from optimizer.inputs.scenario.profile_lengths import lengths_of_profile
from optimizer.inputs.scenario.scenario import Scenario, Workload
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
    _check_plan(report)
    loss = _loss(
        report,
        catalogs.terms,
        lose_instance=lose_instance,
        lose_region=lose_region,
        lose_spot=lose_spot,
        lost_minutes=lost_minutes,
    )
    days = None if arrivals is None else arrivals.days
    _check_days(days, loss, autoscale)
    level = scenario.policy.confidence if confidence is None else confidence
    asked = scenario if lengths is None else _of_lengths(scenario, lengths, catalogs, arrivals)
    found = simulated(
        Claim(asked, catalogs, report.fleet),
        arrivals,
        confidence=level,
        requests=requests,
        seeds=seeds,
        router=_dealing(by_chance, router, _knows_prompts(asked, arrivals)),
        parts=PARTS_OF_TIME if days is None else PARTS_OF_DAY * days,
        loss=loss,
        autoscale=autoscale,
    )
    return found.model_copy(update={"lengths": lengths})


def _check_plan(report: PlanReport) -> None:
    """Raises InputError: there is no plan to simulate, or no replicas in it."""
    if report.monthly_cost_usd is None:
        problem = f"there is no plan to simulate: the outcome is {report.outcome}"
        raise InputError([Finding("plan", 0, "monthly_cost_usd", problem, "simulate one that has deployments")])
    if not report.deployments:
        sold = ", ".join(f"{item.workload}: {item.api} at {item.provider}" for item in report.hosted)
        problem = f"nothing of the plan can be simulated: {sold}"
        raise InputError([Finding("plan", 0, "deployments", problem, "simulate one that has deployments")])


def _check_days(days: int | None, loss: SimulatedLoss | None, autoscale: float | None) -> None:
    """Raises InputError: a loss over days, or a scaler without them."""
    if loss is not None and days is not None:
        problem = "replicas are lost in the busiest hours, not in a week"
        raise InputError([Finding(f"--lose-{loss.of}", 0, "", problem, "simulate one of the two")])
    if autoscale is not None and days is None:
        problem = "the hours with most to do have always as many replicas"
        raise InputError([Finding("--autoscale", 0, "", problem, "simulate days: --arrivals week or week:DAYS")])


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
