"""The page beside the scripts: what is measured in which order, how long, for how much, and what that can decide."""

from collections.abc import Iterator

from optimizer.answers.running.benchmark import BenchmarkedDeployment, BenchmarkPlan
from optimizer.base.figures import exactly, figure
from optimizer.base.units import MINUTES_PER_HOUR, SECONDS_PER_HOUR
from optimizer.inputs.scenario.demand import arrivals_in_words
from optimizer.plan.benchmark.commands import TOOLS, WARM_UP_S
from optimizer.plan.benchmark.runs import SURE, BenchmarkRun, Need
from optimizer.plan.grounds.question import LATENCIES
from optimizer.report.layout.amounts import money, percent
from optimizer.report.layout.elements import Section, Table, WrittenAnswer, with_content
from optimizer.report.layout.markdown import answer_markdown
from optimizer.report.running.benchmark.scripts import MARK, RESULTS, scripts, short_id, url_variable

SECONDS_PER_MINUTE = SECONDS_PER_HOUR / MINUTES_PER_HOUR


def benchmark_files(found: BenchmarkPlan) -> dict[str, str]:
    """The runs as files for a shell; the same plan, the same bytes.

    Args:
        found: The runs.

    Returns:
        Each file's text by its name: README.md, run-all.sh and a script for each deployment.
    """
    page, commands = answer_markdown(benchmark_answer(found)), "\n".join(_commands(found))
    readme = f"{page}\n## Commands\n\n```sh\n{commands}\n```\n\n<!-- {MARK} -->\n"
    return {"README.md": readme, **scripts(found)}


def benchmark_content(found: BenchmarkPlan, folder: str) -> dict[str, object]:
    """The same as plain values, with the files that were written."""
    runs = [
        {
            "name": run.name,
            "workload": run.d.workload,
            "class": run.served.name,
            "deployment": item.name,
            "also_for": list(run.also_for),
            "monthly_cost_usd": f"{item.monthly_cost_usd:.2f}",
            "performance": item.performance,
            "requests_per_second": run.rate_per_s,
            "arrival_cv2": run.cv2,
            "requests": run.requests,
            "duration_s": run.duration_s,
            "limits": [
                {"metric": each.metric, "statistic": each.statistic, "at_replica_ms": each.at_replica_ms}
                for each in run.limits
            ],
        }
        for item in found.deployments
        for run in item.runs
    ]
    return {
        "plan": found.plan_id,
        "tool": found.tool,
        "runs": runs,
        "not_benchmarked": list(found.not_benchmarked),
        "folder": folder,
        "files": sorted(benchmark_files(found)),
    }


def benchmark_answer(found: BenchmarkPlan) -> WrittenAnswer:
    """What is written, in the order in which to run it."""
    runs = [(item, run) for item in found.deployments for run in item.runs]
    minutes = sum(item.runs[0].duration_s for item in found.deployments) / SECONDS_PER_MINUTE
    price_usd = sum(item.runs[0].price_usd for item in found.deployments)
    summary = (
        f"{len(runs)} {'run' if len(runs) == 1 else 'runs'} of {found.tool} can falsify the plan for {found.scenario}: "
        f"{figure(minutes)} minutes, about {money(price_usd)} at the plan's prices."
    )
    sections = (
        Section("Runs, what most money rests on first", table=Table(RUNS, tuple(_row(*each) for each in runs))),
        Section("What they decide", tuple(line for _, run in runs for line in _decides(run))),
        Section("How they measure", tuple(_how(found))),
        Section("Not benchmarked", found.not_benchmarked),
    )
    return WrittenAnswer(with_content(sections), summary, f"Benchmark of {found.scenario}")


RUNS = ("run", ">$/month at stake", "rests on", ">requests/s", ">in", ">out", "arrivals", ">requests", ">minutes", ">$")


def _row(item: BenchmarkedDeployment, run: BenchmarkRun) -> tuple[str, ...]:
    return (
        run.name,
        f"{item.monthly_cost_usd:,.2f}",
        f"{item.performance} speed",
        figure(run.rate_per_s),
        f"{run.served.input_tokens:,}",
        f"{run.served.output_tokens:,}",
        arrivals_in_words(round(run.cv2, 3)),
        f"{run.requests:,}",
        figure(run.duration_s / SECONDS_PER_MINUTE),
        f"{run.price_usd:,.2f}" if run is item.runs[0] else "",
    )


def _decides(run: BenchmarkRun) -> Iterator[str]:
    """Each promise at the replica, then why so many requests."""
    for limit in run.limits:
        less = f" ({exactly(limit.limit_ms)} less {exactly(limit.before_ms)} before it)" if limit.before_ms else ""
        yield (
            f"{run.name}: {LATENCIES[limit.metric]} {limit.statistic} ≤ {exactly(limit.at_replica_ms)} ms at the "
            f"replica{less}, predicted {figure(limit.predicted_ms)} ms "
            f"({figure(limit.low_ms)}–{figure(limit.high_ms)})"
        )
    if not run.limits:
        yield f"{run.name}: no latency is promised; the replica must keep up with {figure(run.rate_per_s)} requests/s"
    if run.also_for:
        yield f"{run.name}: speaks for {', '.join(run.also_for)} as well, the same machines bought otherwise"
    for need in run.needs:
        yield f"{run.name}: {_size(need, run)}"


def _size(need: Need, run: BenchmarkRun) -> str:
    """Why the number of requests is enough, or that it may not be."""
    promised, expected = percent(need.promised), percent(round(need.expected, 4))
    least = f"{need.fewest} requests prove {promised} at {percent(SURE)} if none is outside"
    if need.decide is None:
        return f"{least}; {expected} are predicted to be within, too near for any run to tell"
    if run.requests < need.decide:
        return f"{least}; {expected} are predicted to be within, which takes {need.decide:,}: it may stay undecided"
    return f"{least}; {expected} are predicted to be within, which {need.decide:,} prove 19 times in 20"


def _how(found: BenchmarkPlan) -> Iterator[str]:
    yield "start one replica of each deployment as the plan has it (engine, version, precisions, parallel degrees)"
    yield (
        "a replica is sent what the plan sends one replica in its busiest hours; the classes of a deployment are sent "
        "at the same time"
    )
    tool = TOOLS[found.tool]
    if tool.warms_by_one_prompt:
        before = f"other prompts at the same rate go before for {figure(WARM_UP_S)} s"
        yield f"{before}, which no result, minute or price counts"
    yield from tool.remarks
    if any(item.runs[0].d.speculation for item in found.deployments):
        yield (
            "what a step keeps of a draft hangs on the text, and random tokens are none: replay prompts of your own "
            "before you believe a verdict on a deployment that drafts"
        )
    yield f"the runs are made for the plan {short_id(found.plan_id)}, and for no other"


def _commands(found: BenchmarkPlan) -> Iterator[str]:
    """To install, to run, to check, one a line."""
    tool = TOOLS[found.tool]
    yield tool.needs
    yield from (f"export {url_variable(item.name)}=http://HOST:8000" for item in found.deployments)
    yield "bash run-all.sh  # once more: ATTEMPT=1 bash run-all.sh"
    yield f"optimizer check {RESULTS}/*/*{tool.result} --plan PLAN.json"
