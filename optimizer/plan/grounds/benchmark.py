"""The one measurement to make before signing, as a command to run."""

import shlex
from collections.abc import Sequence
from typing import Final

from optimizer.base.figures import exactly, figure
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.uncertainty.evidence import setups_measured
from optimizer.plan.benchmark.commands import Written, command
from optimizer.plan.benchmark.promises import PromisedLimit
from optimizer.plan.benchmark.runs import BenchmarkRun, runs_of
from optimizer.plan.grounds.question import LATENCIES
from optimizer.plan.record.explanation import Benchmark
from optimizer.plan.record.fleet import PlannedFleet

TOOL: Final = "vllm"
"""It sends to any engine with an interface like OpenAI's."""
FEW_SETUPS: Final = 10
"""Fewer than these say little of a card under load."""
URL: Final = "http://HOST:8000"


def first_benchmark(scenario: Scenario, catalogs: Catalogs, bought: PlannedFleet) -> Benchmark | None:
    """Of the dearest deployment that nobody measured, else of the dearest.

    None where nothing is rented, or all of it was measured on deployments of one's own.

    Args:
        scenario: What is asked.
        catalogs: What models are called.
        bought: The plan.
    """
    runs = runs_of(scenario, catalogs, bought)
    # those that were measured come last
    if not runs or runs[0].d.provenance.performance == "measured":
        return None
    d = runs[0].d
    mine = [run for run in runs if run.deployment_name == runs[0].deployment_name]
    limits = limits_in_words(mine)
    duty = f"it must keep {limits}" if limits else "no request may fail"
    return Benchmark(
        configuration=configuration_of(runs[0]),
        command=commands_of(mine),
        settles=f"{d.workload}: speed of {configuration_of(runs[0])}",
        text=f"{load_in_words(mine)}: {duty}{_thin_evidence(catalogs, d.gpu, d.engine)}",
    )


def _thin_evidence(catalogs: Catalogs, gpu: str, engine: str) -> str:
    """How little was published of a card under engines like this one; its other speeds are those of cards like it."""
    setups = setups_measured(catalogs, gpu, engine)
    if not 0 < setups.alike < FEW_SETUPS:
        return ""
    newest = "none" if setups.of_release == 0 else f"{setups.of_release}"
    published = "1 published setup" if setups.alike == 1 else f"{setups.alike} published setups"
    return f"; {gpu} is known by {published}, {newest} with {engine} as it is today"


def configuration_of(run: BenchmarkRun) -> str:
    """What is measured."""
    d = run.d
    draft = f", drafting {d.speculation}" if d.speculation else ""
    return f"{d.model} {d.precision} on {d.gpus_per_replica}×{d.gpu} with {d.engine}{draft}"


def commands_of(runs: Sequence[BenchmarkRun]) -> str:
    """The runs of one deployment as vLLM's own benchmark makes them, all classes at once."""
    lines = [command(TOOL, run, Written(URL, shlex.quote(run.name))) for run in runs]
    return lines[0] if len(lines) == 1 else " & ".join([*lines, "wait"])


def load_in_words(runs: Sequence[BenchmarkRun]) -> str:
    """One replica, and what all the runs of a deployment send it."""
    rate_per_s = sum(run.rate_per_s for run in runs)
    return f"one replica of {configuration_of(runs[0])}, KV {runs[0].d.kv_precision}, at {figure(rate_per_s)} req/s"


def limits_in_words(runs: Sequence[BenchmarkRun]) -> str:
    """What is measured at the replica must stay within these, of which all classes have the same."""
    return ", ".join(map(_limit_in_words, runs[0].limits))


def _limit_in_words(limit: PromisedLimit) -> str:
    less = f" ({exactly(limit.limit_ms)} less {exactly(limit.before_ms)} before it)" if limit.before_ms else ""
    return f"{LATENCIES[limit.metric]} {limit.statistic} ≤ {exactly(limit.at_replica_ms)} ms{less}"
