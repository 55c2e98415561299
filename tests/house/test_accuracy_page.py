"""docs/accuracy.md is what the stored results say, misses included, and the folds behind them leave nothing out."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.golden import Golden
from support.paths import ROOT

from optimizer.inputs.catalog.records import Catalogs

RESULTS = ROOT / "benchmarks" / "results" / "accuracy.json"
PAGE = ROOT / "docs" / "accuracy.md"

pytestmark = pytest.mark.skipif(not RESULTS.is_file(), reason="the results stand in the checkout")


@pytest.fixture
def found() -> Any:
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def test_the_page_is_what_the_results_say(found: Any, script: Callable[[str], Any], golden: Golden) -> None:
    golden(PAGE, script("accuracy_page").page(found))


def test_what_plans_quote_is_what_the_results_say(found: Any, script: Callable[[str], Any], golden: Golden) -> None:
    told = script("accuracy").kept_promises(found["decisions"]["configurations"], found["as_of"])
    golden(ROOT / "catalogs" / "kept_promises.csv", told)


def test_a_miss_is_called_a_miss(found: Any, script: Callable[[str], Any]) -> None:
    rows = found["schemes"]["configurations"]["tables"][0]["rows"]
    tpot = next(row for row in rows if (row["metric"], row["label"]) == ("tpot", "all"))
    tpot["median_percent"] = 99.9
    line = next(
        line for line in script("accuracy_page").page(found).splitlines() if line.startswith("| TPOT, all: median")
    )
    assert line.endswith("**missed** |")


def test_the_worst_groups_are_explained(found: Any, script: Callable[[str], Any]) -> None:
    worst = found["schemes"]["configurations"]["worst_groups"][:3]
    assert [
        row["label"] for row in worst if not any(part in row["label"] for part in script("accuracy_words").EXPLANATIONS)
    ] == []


def test_what_belongs_together_is_left_out_together(catalogs: Catalogs, script: Callable[[str], Any]) -> None:
    frame = pd.read_csv(ROOT / "catalogs" / "measurements.csv", dtype=str, keep_default_na=False)
    accuracy = script("accuracy")
    for labelled, count in accuracy.SCHEMES.values():
        labels = labelled(frame, catalogs)
        part = accuracy.folds(labels, count)
        assert set(part) == set(range(count))
        assert (pd.Series(part).groupby(labels.to_numpy()).nunique() == 1).all()


def test_an_ablation_takes_its_mechanism_out_of_the_fit(catalogs: Catalogs, script: Callable[[str], Any]) -> None:
    module = script("ablations")
    nothing, neutral, without = module.NOTHING, module.NEUTRAL, module.without
    assert without(catalogs.calibration, nothing) == catalogs.calibration
    for name in module.ABLATIONS:
        entries = without(catalogs.calibration, name)
        held = {each.parameter: each for each in entries if each.parameter in neutral.get(name, {})}
        assert set(held) == set(neutral.get(name, {})), "a parameter that the calibration does not have"
        assert all(each.method == "definition" for each in held.values())
        assert name == nothing or entries != catalogs.calibration


def test_the_noise_floor_counts_pairs_of_one_point(script: Callable[[str], Any]) -> None:
    module = script("noise_floor")
    point = dict.fromkeys(module.POINT, "1")
    runs = [("a", "1", "10"), ("a", "1", "11"), ("a", "2", "10"), ("b", "1", "20")]
    frame = pd.DataFrame(
        [point | {"engine": engine, "engine_version": version, "tpot_ms_mean": tpot} for engine, version, tpot in runs]
    )
    floor = {row["kind"]: row for row in module.noise_floor(frame)}
    assert [floor[kind]["pairs"] for kind in floor] == [1, 1, 3]
    assert floor["same engine and version"]["median_percent"] == pytest.approx(10)
    assert floor["another engine"]["median_percent"] == pytest.approx(100 * np.expm1(np.log(2)))
