"""Many services that share quotas and a commitment pool, planned together: the gap, the time and what it saves.

    python benchmarks/portfolio.py 120 --jobs 2

The scenarios are drawn from a seed, no two alike: a third serves all day, a third in office hours, a third by night,
all on demand in one region of one provider. They share two quotas and a pool of machines committed for a year, which
grow with their number. Prints the answer's summary, the rounds and seconds.
"""

import argparse
import random
import tempfile
import time
from os import times
from pathlib import Path

from optimizer.answers.many.portfolio.portfolio import portfolio
from optimizer.answers.many.portfolio.reading import load_portfolio
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.report.layout.text import answer_text
from optimizer.report.many.portfolio import portfolio_answer

HOURS = {
    "day": [0] * 7 + [1] + [2] * 10 + [1] + [0] * 5,
    "night": [1] * 7 + [0] * 12 + [1] * 5,
}
SCENARIO = """name: {name}
workloads:
  - name: requests
    model: llama-3.1-8b
    {demand}
    input_tokens: {input_tokens}
    output_tokens: {output_tokens}
    slo:
      ttft_ms: {{p95: {ttft_ms}}}
      tpot_ms: {{mean: 50}}
    min_quality: 0.99
policy:
  providers: {{allow: [aws]}}
  regions: {{allow: [us-east-1]}}
  gpus: {{allow: [l4, l40s, a10g, h100-sxm]}}
  engines: [vllm]
"""
SHARED = """name: {count}-services
quotas:
  - {{provider: aws, region: us-east-1, gpu: l40s, max_gpus: {l40s}}}
  - {{provider: aws, region: us-east-1, gpu: l4, max_gpus: {l4}}}
pools:
  - name: l40s-1y
    provider: aws
    region: us-east-1
    instance_type: g6e.xlarge
    pricing_term: reserved_1y
    max_instances: {pool}
"""


def write_services(folder: Path, count: int, seed: int) -> None:
    """Scenarios and what they share."""
    draw = random.Random(seed)
    for number in range(count):
        kind, rate = ("steady", "day", "night")[number % 3], round(draw.uniform(2, 40), 2)
        asked = f"requests_per_second: {rate}"
        if kind != "steady":
            weekend = 0 if kind == "day" else 1
            hours = f"hourly: {HOURS[kind]}, weekend_factor: {weekend}, peak_requests_per_second: {rate}"
            asked = f"demand: {{{hours}}}"
        text = SCENARIO.format(
            name=f"service-{number:03d}",
            demand=asked,
            input_tokens=draw.choice([500, 900, 1500, 2500]),
            output_tokens=draw.choice([100, 200, 300]),
            ttft_ms=draw.choice([800, 1000, 1500]),
        )
        (folder / f"service-{number:03d}.yaml").write_text(text, encoding="utf-8")
    shared = SHARED.format(count=count, l40s=round(2.0 * count), l4=round(1.5 * count), pool=round(1.5 * count))
    (folder / "portfolio.yaml").write_text(shared, encoding="utf-8")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--services", action="store_true", help="list every service, too")
    given = parser.parse_args()
    catalogs = load_catalogs()
    with tempfile.TemporaryDirectory() as folder:
        write_services(Path(folder), given.count, given.seed)
        files = load_portfolio(folder, catalogs)
    began_s, phases = time.perf_counter(), list[tuple[str, float]]()
    found = portfolio(
        files,
        catalogs,
        jobs=given.jobs,
        progress=lambda phase: phases.append((phase, time.perf_counter() - began_s)),
    )
    wall_s, spent = time.perf_counter() - began_s, times()
    shown = found if given.services else found.model_copy(update={"services": []})
    print(answer_text(portfolio_answer(shown)))
    print("; ".join(f"{phase} from {second:.0f} s" for phase, second in phases))
    cpu_s = spent.user + spent.system + spent.children_user + spent.children_system
    searched = f"{found.rounds} rounds, {found.plans_found} plans"
    print(f"{searched}, {wall_s:.0f} s, {cpu_s:.0f} CPU seconds of {given.jobs} jobs")


if __name__ == "__main__":
    main()
