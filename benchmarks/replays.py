"""Plans at confidence 0.9 replayed with other luck and with step times drawn from the calibration's interval.

    python benchmarks/replays.py [--count 64] [--draws 20] [--requests 3000] [--traces DIR] [--router R]

Combinations of model, GPU, lengths and variation of arrivals, drawn one after the other from all there are until so
many have a plan. Each is planned three times: by
formulas that take arrivals to be Poisson, by formulas that know their variation, and as `optimizer plan` does, whose
plan answers to its simulation. A replay draws one quantile for all step times, and its own requests; a plan
is kept where 95 of 100 replays keep every limit at their own percentile. The smallest fleet is the plan's own
configuration with the fewest replicas that are kept so. Ends with a table by variation, the plans that were not, and
what the cost over the smallest fleet is made of: of the scenario's `max_utilization`, which is not asked of the
smallest fleet, and of formulas and simulation, which are.

With `--traces` so are models and GPUs with recorded requests, where DIR has them: azure_conv_2023.csv and
azure_code_2023.csv (Azure/AzurePublicDataset, CC-BY 4.0; Patel et al., Splitwise, ISCA 2024),
mooncake_fast25_conversation.jsonl.gz and mooncake_fast25_synthetic.jsonl.gz (kvcache-ai/Mooncake, Apache-2.0; Qin et
al., FAST 2025): planned, as `trace:` is, for the classes, the busiest minute and the arrivals of the record, and
replayed as they were recorded: as the plan has it, of 10,000 requests in a row at most, and all of it.

The replays share the simulator and the calibration's margins with the plan's own check: they tell what other luck and
other errors of that size do to a plan, not whether simulator and margins are right. Measurements do.
"""

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import numpy as np
import pandas as pd

from optimizer import load_catalogs
from optimizer.answers.planning.tried import tried
from optimizer.base.clock import Clock
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.policy import DEFAULT_MAX_UTILIZATION, Router
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.inputs.scenario.tables import demand_of_trace, requests_of_trace
from optimizer.inputs.scenario.traces.requests import TraceRequests
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.simulate.arriving import Arrivals
from optimizer.plan.simulate.judging import promises
from optimizer.plan.simulate.simulated import simulated
from optimizer.plan.verify.claim import Claim

MODELS = {"llama-3.1-8b": 40.0, "qwen3-32b": 15.0, "llama-3.3-70b": 8.0, "qwen3-30b-a3b": 60.0}
"""With requests per second of chat; of longer prompts there are fewer."""
GPUS = ("h100-sxm", "a100-80-sxm", "l40s", "h200-sxm")
LENGTHS: dict[str, dict[str, Any]] = {
    "chat": {"input_tokens": 1000, "output_tokens": 250, "slo": {"ttft_ms": 800, "tpot_ms": 50}},
    "code": {"input_tokens": 2000, "output_tokens": 30, "slo": {"ttft_ms": 600}},
    "RAG": {"input_tokens": 6000, "output_tokens": 300, "slo": {"ttft_ms": 2500, "tpot_ms": 50}},
    "agent": {
        "request_classes": [
            {"share": 0.7, "input_tokens": 1500, "output_tokens": 150},
            {"share": 0.3, "input_tokens": 9000, "output_tokens": 600},
        ],
        "slo": {"ttft_ms": 3000, "tpot_ms": 60},
    },
}
FEWER = {"chat": 1.0, "code": 1.0, "RAG": 0.25, "agent": 0.3}
CV2 = (1.0, 2.0, 4.0, 9.0)
TRACES = {
    "azure_conv_2023.csv": {"ttft_ms": 800, "tpot_ms": 50},
    "azure_code_2023.csv": {"ttft_ms": 600},
    "mooncake_fast25_conversation.jsonl.gz": {"ttft_ms": 5000, "tpot_ms": 60},
    "mooncake_fast25_synthetic.jsonl.gz": {"ttft_ms": 5000, "tpot_ms": 60},
}
TRACED_MODELS, TRACED_GPUS = ("llama-3.1-8b", "llama-3.3-70b"), ("h100-sxm", "a100-80-sxm")
KEPT = 0.95
"""Share of replays."""
ENOUGH_IN_A_ROW = 3
"""Kept replays after which those of faster steps are taken to be kept."""
MOST_DEARER = 1.5
ROUNDING = 1e-6
"""Relative, of the utilization that a plan tells."""
MOST_WORK = 10_000
"""Simplex iterations of a search: eight classes of requests mixed on replicas could take minutes."""
WAYS = ("Poisson formulas", "formulas", "simulated")


@dataclass(frozen=True)
class Replayed:
    """One combination as one way planned it.

    Attributes:
        name: The combination.
        cv2: Variation of its arrivals, or whose they are.
        way: One of `WAYS`.
        share: Of replays that keep every limit.
        cost: Over the smallest fleet that is kept; NaN where none is looked for or found.
        reserve: Of that, over as many of its replicas as formulas take for the same requests without any reserve.
        rounds: Plans before it that did not hold.
    """

    name: str
    cv2: float | str
    way: str
    share: float
    cost: float
    reserve: float
    rounds: int


def combinations() -> list[tuple[str, str, str, float]]:
    """All of them, in an order in which every value of each comes early."""
    every = list(product(MODELS, GPUS, LENGTHS, CV2))
    return [every[number] for number in np.random.default_rng(0).permutation(len(every))]


def question(model: str, gpu: str, kind: str, cv2: float, router: Router) -> Scenario:
    """One workload of drawn arrivals."""
    asked = {"requests_per_second": MODELS[model] * FEWER[kind], "arrivals": {"cv2": cv2}}
    return on_one_gpu(gpu, {"name": kind, "model": model} | asked | LENGTHS[kind], router)


def recorded(path: Path, slo: dict[str, int]) -> tuple[dict[str, Any], TraceRequests]:
    """Recorded requests as a workload is asked, and one by one."""
    with TemporaryDirectory() as folder:
        written = Path(folder) / "trace.csv"
        requests = requests_of_mooncake(path) if path.suffix == ".gz" else requests_of_azure(path)
        # a request without an answer asks for nothing that is promised
        requests[requests["output_tokens"] > 0].to_csv(written, index=False)
        trace = demand_of_trace(written)
        arrivals = trace.arrivals(slo["ttft_ms"] / 1000, DEFAULT_MAX_UTILIZATION)
        asked = {
            "requests_per_second": trace.requests_per_second,
            "request_classes": [trace.requests.model_dump()],
            "arrivals": arrivals.model_dump(exclude_none=True),
            "slo": slo,
        }
        return asked, requests_of_trace(written)


def requests_of_azure(path: Path) -> pd.DataFrame:
    """An hour of Azure's in the columns of a trace."""
    frame = pd.read_csv(path, parse_dates=["TIMESTAMP"])
    columns = {
        "arrived_at_s": (frame["TIMESTAMP"] - frame["TIMESTAMP"].min()).dt.total_seconds(),
        "input_tokens": frame["ContextTokens"],
        "output_tokens": frame["GeneratedTokens"],
    }
    return pd.DataFrame(columns)


def requests_of_mooncake(path: Path) -> pd.DataFrame:
    """An hour of Mooncake's in the columns of a trace; what its cache holds is not told."""
    frame = pd.read_json(path, lines=True)
    columns = {
        "arrived_at_s": frame["timestamp"] / 1000,
        "input_tokens": frame["input_length"],
        "output_tokens": frame["output_length"],
    }
    return pd.DataFrame(columns)


def on_one_gpu(gpu: str, workload: dict[str, Any], router: Router) -> Scenario:
    """One workload on one kind of GPU, so that a fleet is counted in replicas."""
    # what nobody measured or published is planned, too, so that all ways are asked the same
    workload = workload | {"unknown_quality": "accept"}
    policy = {
        "gpus": {"allow": [gpu]},
        "engines": ["vllm"],
        "precisions": ["fp8", "bf16", "int8"],
        "max_distinct_configurations": 1,
        "unmeasured_performance": "accept",
        "router": router,
    }
    return Scenario.model_validate({"name": "replay", "workloads": [workload], "policy": policy})


def planned(scenario: Scenario, catalogs: Catalogs) -> Iterator[tuple[str, PlannedFleet, int]]:
    """The plans of each way that has one, with their rounds."""
    (workload,) = scenario.workloads
    calm = scenario.model_copy(update={"workloads": (workload.model_copy(update={"arrivals": None}),)})
    for way, asked in zip(WAYS, (calm, scenario, scenario), strict=True):
        inquiry = Inquiry.of(asked, catalogs, Clock(work_limit=MOST_WORK))
        answer = solved(inquiry)
        if answer.solution.cost_usd_per_month is None:
            continue
        if way == WAYS[-1]:
            found = tried(inquiry, answer, Clock(work_limit=MOST_WORK))
            yield way, found.bought, 0 if found.simulation is None else len(found.simulation.rounds)
        else:
            yield way, read_back(answer), 0


@dataclass(frozen=True)
class Replays:
    """How often, and with how many requests, fleets are replayed."""

    draws: int
    requests: int
    arrivals: tuple[Arrivals | None, ...] = (None,)
    """Each is to be kept; None as the scenario says it."""


def share_kept(scenario: Scenario, catalogs: Catalogs, fleet: PlannedFleet, replays: Replays) -> float:
    """Of replays, each with a quantile of step times of its own; the slowest first, until several in a row are kept."""
    claim, kept_in_a_row = Claim(scenario, catalogs, fleet), 0
    draws = replays.draws
    quantiles = (np.arange(draws) + np.random.default_rng(1).random(draws)) / draws
    broken = 0
    for number, quantile in reversed(list(enumerate(quantiles.tolist()))):
        how = {"confidence": quantile, "requests": replays.requests, "seeds": 1, "first_seed": 1 + number}
        found = (simulated(claim, arrivals, **how) for arrivals in replays.arrivals)
        kept = all(limit.value_ms <= limit.limit_ms for each in found for _, limit in promises(each))
        broken, kept_in_a_row = (broken, kept_in_a_row + 1) if kept else (broken + 1, 0)
        if kept_in_a_row == ENOUGH_IN_A_ROW:
            break
    return 1 - broken / draws


def over_smallest(scenario: Scenario, catalogs: Catalogs, fleet: PlannedFleet, replays: Replays) -> float:
    """Instances of a plan over those of the fewest of its replicas that are kept; NaN for several deployments."""
    if len(fleet.deployments) != 1:
        return math.nan
    (deployment,) = fleet.deployments
    together = max(deployment.gpus_per_instance // deployment.gpus_per_replica, 1)
    low, high = 0, deployment.replicas
    while high - low > 1:
        middle = (low + high) // 2
        schedule = [entry.model_copy(update={"replicas": middle}) for entry in deployment.schedule]
        fewer = deployment.model_copy(update={"replicas": middle, "schedule": schedule})
        smaller = replace(fleet, deployments=(fewer,))
        enough = share_kept(scenario, catalogs, smaller, replays) >= KEPT
        low, high = (low, middle) if enough else (middle, high)
    return math.ceil(deployment.replicas / together) / math.ceil(high / together)


def over_full(fleet: PlannedFleet) -> float:
    """Instances of a plan of one deployment over those that serve its requests with each replica sent all it sustains.

    Whole instances are in both, so what rounding up costs is told with what made it round up.
    """
    (deployment,) = fleet.deployments
    together = max(deployment.gpus_per_instance // deployment.gpus_per_replica, 1)
    full = math.ceil(deployment.replicas * deployment.utilization * (1 - ROUNDING))
    return math.ceil(deployment.replicas / together) / math.ceil(full / together)


def replayed(
    scenario: Scenario, named: tuple[str, float | str], catalogs: Catalogs, replays: Replays
) -> Iterator[Replayed]:
    """One combination, each way that has a plan."""
    name, cv2 = named
    for way, fleet, rounds in planned(scenario, catalogs):
        share = share_kept(scenario, catalogs, fleet, replays)
        counted = way == WAYS[-1] and share >= KEPT
        cost = over_smallest(scenario, catalogs, fleet, replays) if counted else math.nan
        bought = ", ".join(f"{d.replicas}x{d.gpu} {d.precision}" for d in fleet.deployments)
        reserve = math.nan if math.isnan(cost) else over_full(fleet)
        yield Replayed(f"{name} ({bought})", cv2, way, share, cost, reserve, rounds)


def drawn(count: int, catalogs: Catalogs, replays: Replays, router: Router) -> Iterator[Replayed]:
    """Combinations until so many have a plan that answers to its simulation."""
    answered = 0
    for model, gpu, kind, cv2 in combinations():
        if answered == count:
            return
        asked, named = question(model, gpu, kind, cv2, router), (f"{model} {gpu} {kind}", cv2)
        found = list(replayed(asked, named, catalogs, replays))
        answered += any(each.way == WAYS[-1] for each in found)
        yield from found


def of_traces(folder: Path | None, catalogs: Catalogs, replays: Replays, router: Router) -> Iterator[Replayed]:
    """Recorded hours that the folder has, each on every model and GPU."""
    there = [(folder / file, slo) for file, slo in TRACES.items() if (folder / file).exists()] if folder else []
    for (path, slo), model, gpu in product(there, TRACED_MODELS, TRACED_GPUS):
        asked, requests = recorded(path, slo)
        scenario = on_one_gpu(gpu, {"name": "recorded", "model": model} | asked, router)
        as_recorded = replace(replays, arrivals=(None, Arrivals(recorded=requests)))
        yield from replayed(scenario, (f"{model} {gpu}", path.name), catalogs, as_recorded)


def table(found: Sequence[Replayed]) -> Iterator[str]:
    """A line for each variation and way, then all together."""
    yield "                cv2 planned by        plans  kept replays kept cost: median  worst"
    for cv2, way in product([*CV2, *TRACES, None], WAYS):
        rows = [each for each in found if each.way == way and cv2 in (each.cv2, None)]
        if not rows:
            continue
        kept, replays = np.mean([each.share >= KEPT for each in rows]), np.mean([each.share for each in rows])
        costs = [each.cost for each in rows if not math.isnan(each.cost)]
        dearer = f"{np.median(costs):>12.2f} {max(costs):>6.2f}" if costs else ""
        yield f"{cv2 or 'all':>19} {way:<17} {len(rows):>5} {kept:>5.0%} {replays:>12.0%} {dearer}".rstrip()


def made_of(found: Sequence[Replayed]) -> str:
    """What plans cost over the smallest fleets, as a geometric mean, which is the product of its parts."""
    both = np.array([(each.cost, each.reserve) for each in found if not math.isnan(each.cost)])
    cost, reserve = np.exp(np.log(both).mean(axis=0)) if len(both) else (math.nan, math.nan)
    return f"cost {cost:.3f} in the geometric mean: {reserve:.3f} by max_utilization, {cost / reserve:.3f} by the rest"


def main() -> None:
    """Prints a line a combination, then the table and what was not kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=64, help="combinations that have a plan")
    parser.add_argument("--draws", type=int, default=20, help="replays of a fleet")
    parser.add_argument("--requests", type=int, default=3000, help="of a replay")
    parser.add_argument("--router", choices=get_args(Router), default="by_chance", help="as policies state it")
    parser.add_argument("--traces", type=Path, help="folder of recorded requests")
    asked = parser.parse_args()
    catalogs, found, started = load_catalogs(), list[Replayed](), time.process_time()
    replays = Replays(asked.draws, asked.requests)
    of_all = (catalogs, replays, asked.router)
    for each in chain(drawn(asked.count, *of_all), of_traces(asked.traces, *of_all)):
        found.append(each)
        text = f"{each.name:<52} cv2 {each.cv2!s:<3} {each.way:<17} kept {each.share:>4.0%}  cost {each.cost:.2f}"
        print(f"{text}  rounds {each.rounds}", flush=True)
    print("\n" + "\n".join(table(found)))
    print("\n" + made_of(found))
    dear = [each for each in found if each.way == WAYS[-1] and (each.share < KEPT or each.cost > MOST_DEARER)]
    print("\nnot kept, or more than 1.5 times the smallest fleet:" if dear else "\nall kept, at 1.5 times the smallest")
    for each in dear:
        print(f"  {each.name}, cv2 {each.cv2}: kept in {each.share:.0%}, cost {each.cost:.2f}, rounds {each.rounds}")
    print(f"\n{time.process_time() - started:.0f} CPU seconds")


if __name__ == "__main__":
    main()
