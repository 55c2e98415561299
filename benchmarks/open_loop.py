"""Formulas and simulation beside percentiles of TTFT and TPOT that were published of open loops.

    python benchmarks/open_loop.py FILE … [--requests 3000] [--store]

FILE holds measurements as `predict --batch` reads them, with the source and the columns ttft_ms_mean, _p50, _p95 and
_p99. Rows whose TTFT is not to be compared, or whose rate is above 95 % of the predicted capacity, are left out. A line
for each source and statistic: median error and bias in percent, of the formulas and of the simulated replica, both
without margins. `--store` keeps them for docs/accuracy.md (`accuracy.py --render`). Then, for each source that says it,
the p95 of TPOT over its mean: medians as measured, by formulas and simulated.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from optimizer import load_catalogs
from optimizer.base.arrays import Floats
from optimizer.base.units import MS_PER_S
from optimizer.performance.measured.deployments import Deployments, deliver, deployments
from optimizer.performance.measured.loads import Delivered
from optimizer.performance.measured.rows import read_table
from optimizer.performance.simulation.arrivals import Classes, renewal
from optimizer.performance.simulation.costs import replica_costs
from optimizer.performance.simulation.replica import serve

STATISTICS: Final = {"mean": "ttft_mean_s", "p50": "ttft_median_s", "p95": "ttft_p95_s", "p99": "ttft_p99_s"}
"""With the field of what formulas deliver."""
WAYS: Final = ("formulas", "simulation")
RESULTS: Final = Path(__file__).resolve().parent / "results" / "accuracy.json"
MOST_UTILIZATION: Final = 0.95
WARM_UP: Final = 0.1


def replicas(rows: pd.DataFrame, requests: int) -> Iterator[tuple["pd.Series[Any]", Delivered, Floats, Floats]]:
    """Each row that is answered and below capacity: what formulas say of it, and simulated TTFT and TPOT, ms."""
    catalogs = load_catalogs()
    found, answered = deployments(read_table(rows, catalogs), catalogs)
    if found is None:
        return
    delivered = deliver(found)
    for number, place in enumerate(answered):
        if delivered.utilization[number] <= MOST_UTILIZATION:
            own = Delivered(*(each[[number]] for each in delivered))
            yield rows.iloc[place], own, *simulated_ms(found, number, rows.iloc[place], requests)


def simulated_ms(found: Deployments, number: int, row: "pd.Series[Any]", requests: int) -> tuple[Floats, Floats]:
    """TTFT and TPOT of each request of one replica, the first of them left out."""
    prompt, answer = (np.array([max(round(row[f"{name}_tokens"]), 2)]) for name in ("input", "output"))
    rate_per_s = row["load_value"] / found.replicas[number]
    stream = renewal(np.random.default_rng(0), Classes(np.ones(1), prompt, answer), rate_per_s, requests, 1.0)
    costs, nothing = replica_costs(found.setup, number), np.zeros_like(stream.input_tokens)
    done = serve(costs, stream.arrived_s, costs.work(stream.input_tokens, nothing, stream.output_tokens))
    late = stream.arrived_s - stream.arrived_s[0] > WARM_UP * stream.span_s
    ttft = done.first_token_s - stream.arrived_s
    tpot = (done.finished_s - done.first_token_s) / (stream.output_tokens - 1)
    return MS_PER_S * ttft[late], MS_PER_S * tpot[late]


def first_tokens(rows: pd.DataFrame, requests: int) -> Iterator[dict[str, object]]:
    """A record for each row and statistic of TTFT: measured, by formulas, simulated, ms."""
    for row, delivered, ttft_ms, _ in replicas(rows, requests):
        for name, field in STATISTICS.items():
            yield {
                "source": row["source"],
                "statistic": name,
                "measured": row[f"ttft_ms_{name}"],
                "formulas": MS_PER_S * getattr(delivered, field)[0],
                "simulation": ttft_ms.mean() if name == "mean" else np.quantile(ttft_ms, int(name[1:]) / 100),
            }


def token_spreads(rows: pd.DataFrame, requests: int) -> Iterator[dict[str, object]]:
    """A record for each row: the p95 of TPOT over its mean, measured, by formulas, simulated."""
    for row, delivered, _, tpot_ms in replicas(rows, requests):
        yield {
            "source": row["source"],
            "measured": row["tpot_ms_p95"] / row["tpot_ms_mean"],
            "formulas": delivered.tpot_p95_s[0] / delivered.tpot_s[0],
            "simulation": np.quantile(tpot_ms, 0.95) / tpot_ms.mean(),
        }


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """A line for each source and statistic: rows, and median error and bias of each way to predict, percent."""
    ratio = table[list(WAYS)].div(table["measured"], axis=0) - 1
    groups = [table["source"], table["statistic"]]
    told = {"rows": ratio.iloc[:, 0].groupby(groups).size()}
    for name in WAYS:
        told[f"{name}_percent"] = 100 * ratio[name].abs().groupby(groups).median()
        told[f"{name}_bias_percent"] = 100 * ratio[name].groupby(groups).median()
    return pd.DataFrame(told).round(1).reset_index()


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--requests", type=int, default=3000, help="of each row")
    parser.add_argument("--store", action="store_true", help="keep the table for docs/accuracy.md")
    asked = parser.parse_args()
    rows = pd.concat([pd.read_csv(file, low_memory=False) for file in asked.files], ignore_index=True)
    rows = rows[rows["load_type"] == "request_rate"]
    with_ttft = rows[rows["ttft_ms_p99"].notna() & rows["exclude_ttft"].isna()].reset_index(drop=True)
    with_tpot = rows[rows["tpot_ms_p95"].notna() & rows["exclude_tpot"].isna()].reset_index(drop=True)
    found = summary(pd.DataFrame(first_tokens(with_ttft, asked.requests)))
    print(found.to_string(index=False))
    spreads = pd.DataFrame(token_spreads(with_tpot, asked.requests)).groupby("source")
    print("\nTPOT, p95 over mean")
    print(spreads.median().assign(rows=spreads.size()).round(3).to_string())
    if asked.store:
        stored = json.loads(RESULTS.read_text(encoding="utf-8")) | {"open_loop": found.to_dict("records")}
        text = json.dumps(dict(sorted(stored.items())), indent=1, ensure_ascii=False)
        RESULTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
