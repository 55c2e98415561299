"""What an export deploys, in which order to run what, who is sent which requests, and what was left out."""

from collections.abc import Callable, Iterator
from typing import Any

from optimizer.answers.running.export.export import BILL
from optimizer.answers.running.export.record import Export, Run
from optimizer.answers.running.export.targets.common import EXPERIMENTAL
from optimizer.answers.running.export.targets.registry import TARGETS
from optimizer.base.figures import figure
from optimizer.base.units import HOURS_PER_DAY
from optimizer.report.focus import FOCUS_FILE, FOCUS_VERSION
from optimizer.report.layout.amounts import DAYS, money, plural
from optimizer.report.layout.elements import Section, Table, WrittenAnswer, with_content

SHOWN = 3


def export_answer(found: Export) -> WrittenAnswer:
    """The same on the screen and in the README of the folder."""
    count = f"{len(found.runs)} {plural('deployment', len(found.runs))} for {', '.join(found.targets)}"
    count = count if found.targets else "the bill"
    left = "; what they cannot carry stands below" if found.left_out else ""
    summary = f"{found.scenario}: {count}, {money(found.monthly_usd)} a month as planned{left}."
    of_runs = ("deployment", "on", ">replicas", ">most req/s each", ">share of requests", ">$/month")
    of_hours = ("deployment", "hours", ">replicas", ">share of requests")
    alternatives = "Targets are alternatives: run a deployment with one of them."
    about = (f"Plan {found.plan_id}. {alternatives}",) if found.targets else ()
    sections = (
        Section("What runs", about, Table(of_runs, tuple(map(_run, found.runs)))),
        Section("The bill", tuple(_bill(found))),
        Section("What each loads", tuple(f"{names}: {text}" for text, names in _shared(found, _loaded))),
        *(Section(f"With {name}, in this order", tuple(_order(found, name))) for name in found.targets),
        Section("Who is sent what", tuple(_routing(found))),
        Section("By the hour", table=Table(of_hours, _hours(found))),
        Section("Before you rely on it", tuple(_remarks(found))),
        Section("Left out", table=Table(("target", "what", "why"), tuple(_left_out(found)))),
    )
    return WrittenAnswer(with_content(sections), summary, "Deployment")


def export_content(found: Export, folder: str) -> dict[str, Any]:
    """The same as plain values."""
    runs = [
        {
            "name": run.name,
            "workload": run.workload,
            "model": run.server.model_name,
            "weights": run.server.checkpoint.hf_id,
            "served_name": run.server.served_name,
            "engine": run.server.engine,
            "engine_version": run.server.engine_version,
            "command": [*run.server.command, *run.server.arguments()],
            "min_replicas": run.load.min_replicas,
            "max_replicas": run.load.max_replicas,
            "sustainable_requests_per_second": float(f"{run.load.sustainable_per_s:.6g}"),
            "routing_weight": float(f"{run.load.weight:.6g}"),
            "monthly_cost_usd": f"{run.monthly_usd:.2f}",
        }
        for run in found.runs
    ]
    left_out = [{"what": each.what, "target": each.target or None, "reason": each.reason} for each in found.left_out]
    return {
        "plan": found.plan_id,
        "scenario": found.scenario,
        "monthly_cost_usd": f"{found.monthly_usd:.2f}",
        "output": folder,
        "targets": [*found.targets, *([BILL] if found.bill else [])],
        "deployments": runs,
        "files": sorted(["README.md", *found.files, *([FOCUS_FILE] if found.bill else [])]),
        "left_out": left_out,
    }


def _bill(found: Export) -> Iterator[str]:
    """Where the bill stands, and what it is; nothing where none was asked for."""
    if found.bill is not None:
        rows = len(found.bill.lines)
        billed = (
            f"{rows} {plural('row', rows)}, {money(found.monthly_usd)} of an average month as {found.bill.month:%Y-%m}"
        )
        yield f"{FOCUS_FILE}, in the columns of FOCUS {FOCUS_VERSION}: {billed}. Nobody has billed it yet."


def _run(run: Run) -> tuple[str, ...]:
    machine, load = run.machine, run.load
    term = "" if machine.pricing_term == "on_demand" else f", {machine.pricing_term.replace('_', ' ')}"
    where = f"{run.server.gpus}×{machine.gpu}, {machine.provider} {machine.region} {machine.instance_type}{term}"
    many = f"{load.min_replicas:,}–{load.max_replicas:,}" if load.scales else f"{load.max_replicas:,}"
    return run.name, where, many, figure(load.sustainable_per_s), f"{load.weight:.1%}", f"{run.monthly_usd:,.2f}"


def _shared(found: Export, told: Callable[[Run], str]) -> list[tuple[str, str]]:
    """What is told of deployments, each text once, with the names of all it is true of."""
    names: dict[str, list[str]] = {}
    for run in found.runs:
        names.setdefault(told(run), []).append(run.name)
    return [(text, ", ".join(each)) for text, each in names.items()]


def _loaded(run: Run) -> str:
    """Engine, checkpoint and the longest request; what else there is of that precision."""
    server, checkpoint = run.server, run.server.checkpoint
    loaded = f"quantized to {server.precision} as it is loaded" if checkpoint.quantized_on_load else server.precision
    engine = f"{server.engine_name} {server.engine_version}"
    context = f"requests of up to {int(server.flags['context_tokens'][-1]):,} tokens"
    text = (
        f"{engine}, {checkpoint.hf_id}, {loaded} ({checkpoint.download_gb:,.0f} GB), KV cache in {server.kv_precision}"
    )
    text += f", drafting {server.speculation}" if server.speculation else ""
    if not checkpoint.others:
        return f"{text}, {context}."
    more = f" and {len(checkpoint.others) - SHOWN} more" if len(checkpoint.others) > SHOWN else ""
    return f"{text}, {context}; also published in {server.precision}: {', '.join(checkpoint.others[:SHOWN])}{more}."


def _order(found: Export, name: str) -> Iterator[str]:
    """What must be there, then each deployment, the dearest first, then the check; nothing where nothing is written."""
    target = TARGETS[name]
    folders = [run for run in found.runs if f"{run.name}/{target.file}" in found.files]
    if not folders:
        return
    yield f"First have {target.before}."
    commands: dict[str, list[str]] = {}
    for run in sorted(folders, key=lambda each: -each.monthly_usd):
        commands.setdefault(target.use.format(name=run.name), []).append(run.name)
    for command, names in commands.items():
        yield f"Then, in {' then '.join(names)}: `{command}`"
    yield "Last, when each answers on /health, route requests as below."
    yield f"These files are held against {target.validated}." if target.validated else EXPERIMENTAL


def _routing(found: Export) -> Iterator[str]:
    """Checkpoint of each workload at its busiest hours; classes where they are not all sent alike."""
    for workload in dict.fromkeys(run.workload for run in found.runs):
        runs = [run for run in found.runs if run.workload == workload]
        weights = ", ".join(f"{run.name} {run.load.weight:.1%}" for run in runs)
        yield f"{workload}, by weight at its busiest hours: {weights}."
        rest = 1 - sum(run.load.weight for run in runs)
        if rest > 0.0005:
            yield f"{workload}: the other {rest:.1%} go to what is left out below."
        if any(share < 0.9995 for run in runs for share in run.load.shares.values()) and len(_classes(runs)) > 1:
            for kind in _classes(runs):
                sent = ", ".join(f"{run.name} {run.load.shares[kind]:.1%}" for run in runs if kind in run.load.shares)
                yield f"{workload}, requests of {kind} tokens (prompt x answer): {sent}."


def _classes(runs: list[Run]) -> list[str]:
    return sorted({kind for run in runs for kind in run.load.shares})


def _hours(found: Export) -> tuple[tuple[str, ...], ...]:
    """One row a deployment and what runs of it, where replicas change over the week."""
    if not any(run.load.scales for run in found.runs):
        return ()
    ranges: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
    for run in found.runs:
        for item in run.load.schedule:
            ranges.setdefault((run.name, f"{item.replicas}", f"{item.share:.1%}"), []).extend(item.ranges)
    return tuple(
        (name, ", ".join(map(_range, _joined(hours))), replicas, share)
        for (name, replicas, share), hours in ranges.items()
    )


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of hours in their order, those that touch made one."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and joined[-1][1] + 1 == first:
            joined[-1] = joined[-1][0], last
        else:
            joined.append((first, last))
    return joined


def _range(hours: tuple[int, int]) -> str:
    """First and last hour of a range, as a day and the hours from and to."""
    (first_day, first), (last_day, last) = (divmod(hour, HOURS_PER_DAY) for hour in hours)
    until = "" if first_day == last_day else f"{DAYS[last_day]} "
    return f"{DAYS[first_day]} {first}–{until}{last + 1} h"


def _remarks(found: Export) -> Iterator[str]:
    for text in dict.fromkeys(text for run in found.runs for text in run.remarks):
        names = [run.name for run in found.runs if text in run.remarks]
        yield f"{', '.join(names)}: {text}."


def _left_out(found: Export) -> Iterator[tuple[str, ...]]:
    """One row a reason and the deployments it stands for, with the targets."""
    targets: dict[tuple[str, str], list[str]] = {}
    for each in found.left_out:
        targets.setdefault((each.target, each.reason), []).append(each.what)
    rows: dict[tuple[str, str], list[str]] = {}
    for (target, reason), names in targets.items():
        rows.setdefault((", ".join(names), reason), []).append(target or "all")
    yield from ((", ".join(names), what, reason) for (what, reason), names in rows.items())
