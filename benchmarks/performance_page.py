"""The performance page: tables of what was measured and how, from the results of `scaling.py`."""

import math
from typing import Any

_INTRODUCTION = """# How fast plans are found

Written by `{command}`; the numbers are in [benchmarks/results/scaling.json](../benchmarks/results/scaling.json).

Measured on {cores} cores, {system}, Python {python}, OR-tools {ortools}, NumPy {numpy}. Instances are random, from
`benchmarks/instances.py`: *unrelated* has independent prices and rates, so that no GPU is a cheaper copy of another and
nothing can be removed by comparison; *small_steps* has rates that do not rise with the price; *heavy_tailed* has
log-normal prices, rates and demands. One replica is one GPU, which serves any mixture of the request classes. With
several periods there is one class with demand by day and night, every other offer is cheaper and paid always, and each
start costs six minutes of an instance. Time is from arrays to the routed plan. A search ends when the plan is proven
within 0.1 %, or when it sees that {limit} s are over; the gap is the one proven, from a bound that trusts no solver
(`optimizer/program/large/patterns.py`, with starts `start_costs.py`). CPU time is given beside wall time:
other work shared the cores.
"""


def page(result: dict[str, Any], command: str) -> str:
    """The whole page as Markdown."""
    parts = [_INTRODUCTION.format(command=command, limit=f"{result['limit_s']:.0f}", **result["machine"])]
    rows = result["scaling"]
    axes = list(dict.fromkeys(row["axis"] for row in rows))
    several = [axis for axis in axes if sum(row["axis"] == axis for row in rows) > 1]
    for axis in several:
        parts.append(_axis(axis, [row for row in rows if row["axis"] == axis]))
    alone = [row for row in rows if row["axis"] not in several]
    parts.append("## 100 request classes on 10,000 unrelated offers\n\n" + _table(alone, "axis"))
    hardest = max((row for row in rows if row["gap_percent"] is not None), key=lambda row: row["gap_percent"])
    parts.append(f"The widest gap left is {hardest['gap_percent']:.2f} %: {_described(hardest)}.\n")
    parts += [_comparison(result), _plain(result["split"])]
    return "\n".join(parts)


def _axis(axis: str, rows: list[dict[str, Any]]) -> str:
    first, last = rows[0], rows[-1]
    text = f"## Along {axis}\n\n{_described(first, without=axis)}; `{axis}` as listed.\n\n{_table(rows, 'value')}"
    power = _power(rows)
    law = f"From {first['value']:,} to {last['value']:,} {axis}, CPU time grows as the power {power:.2f} of them"
    return f"{text}\n{law} (least squares on logarithms).\n"


def _power(rows: list[dict[str, Any]]) -> float:
    """Slope of log CPU time over log size."""
    points = [(math.log(row["value"]), math.log(max(row["cpu_s"], 1e-3))) for row in rows]
    middle: list[float] = [sum(axis) / len(points) for axis in zip(*points, strict=True)]
    spread: float = sum((x - middle[0]) ** 2 for x, _ in points)
    together: float = sum((x - middle[0]) * (y - middle[1]) for x, y in points)
    return together / spread


def _table(rows: list[dict[str, Any]], key: str) -> str:
    head = f"| {'case' if key == 'axis' else rows[0]['axis']} | wall s | CPU s | gap proven | peak memory MiB |"
    lines = [head, "|---:|---:|---:|---:|---:|"]
    for row in rows:
        label = row[key] if key == "axis" else f"{row[key]:,}"
        gap = "no plan" if row["gap_percent"] is None else f"{row['gap_percent']:.3f} %"
        lines.append(f"| {label} | {row['wall_s']:.2f} | {row['cpu_s']:.2f} | {gap} | {row['memory_mib']:,} |")
    return "\n".join(lines) + "\n"


def _described(row: dict[str, Any], without: str = "") -> str:
    facts = {name: row[name] for name in ("candidates", "classes", "periods", "replicas", "workloads")}
    if row["periods"] > 1 or without == "periods":
        facts["classes"] = 1
    if without == "workloads":
        facts["classes"] = "4 a workload"
    told = {name: value for name, value in facts.items() if name != without}
    named = [f"{v:,.0f} {name}" if isinstance(v, int | float) else f"{v} {name}" for name, v in told.items()]
    return f"{row['kind']}, " + ", ".join(named)


def _comparison(result: dict[str, Any]) -> str:
    """The paired comparison with assignment in slices."""
    lines = [
        "## Against assignment in slices",
        "",
        "The published rival cuts each class's demand into slices (here 8) and assigns each whole to one GPU type",
        "(`benchmarks/slice_ilp.py`, after Mélange). Same instance, same process, 100 classes, about 100 replicas.",
        f"Ours is proven optimal. The rival has {result['rival_limit_s']:.0f} s, which CBC overruns; `>` marks times",
        "at which it had proven nothing, so that the true ratio is larger. USD/h.",
        "",
        "| instance | GPUs | ours | s | HiGHS in slices | s | ratio | CBC in slices | s | ratio |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["pairs"]:
        ours, cells = row["ours"], []
        for backend in ("HIGHS", "CBC"):
            rival = row[backend]
            more = "" if rival["proven"] else "> "
            cost = "none" if rival["usd_per_hour"] is None else f"{rival['usd_per_hour']:.2f}"
            cells.append(f"{cost} | {more}{rival['wall_s']:.1f} | {more}{rival['ratio']:.0f} ×")
        label = f"{row['kind']} {row['seed']}"
        lines.append(
            f"| {label} | {row['gpus']} | {ours['usd_per_hour']:.2f} | {ours['wall_s']:.2f} | {' | '.join(cells)} |"
        )
    ratios = [row[backend]["ratio"] for row in result["pairs"] for backend in ("HIGHS", "CBC")]
    worse = sum(
        row[backend]["usd_per_hour"] is not None and row["ours"]["usd_per_hour"] > row[backend]["usd_per_hour"] + 1e-6
        for row in result["pairs"]
        for backend in ("HIGHS", "CBC")
    )
    lines += [
        "",
        f"Ours cost more in {worse} of {len(ratios)} comparisons; the smallest ratio of times is {min(ratios):.0f}.",
        "",
    ]
    return "\n".join(lines)


def _plain(rows: list[dict[str, Any]]) -> str:
    """The paired comparison with the plain program, both stopped at the same gap."""
    lines = [
        "## Against the plain program",
        "",
        "The plainest rival (`benchmarks/split_milp.py`): whole counts, each class's demand split over GPU types as it",
        "comes, HiGHS as it is, nothing strengthened or left out. Same instance, same process, about 100 replicas;",
        "both stop within 0.1 % or after 60 s. The ratio is the rival's CPU time over ours: below 1 it is faster.",
        "",
        "| instance | GPUs | classes | ours USD/h | gap | CPU s | plain USD/h | gap | CPU s | ratio |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        ours, plain = row["ours"], row["plain"]
        cells = [
            f"{each['usd_per_hour']:.2f} | {each['gap_percent']:.3f} % | {each['cpu_s']:.2f}" for each in (ours, plain)
        ]
        lines.append(
            f"| {row['kind']} {row['seed']} | {row['gpus']:,} | {row['classes']} | {' | '.join(cells)} "
            f"| {plain['cpu_s'] / ours['cpu_s']:.2f} |"
        )
    faster = sum(row["plain"]["cpu_s"] < row["ours"]["cpu_s"] for row in rows)
    return "\n".join([*lines, "", f"The plain program was faster on {faster} of {len(rows)} instances.", ""])
