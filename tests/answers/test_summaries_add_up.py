"""A plan in a phrase has as many GPUs as the plan: no instance is left out, none is counted for each that shares it."""

import re
from collections.abc import Callable

import pytest

from optimizer import compare, load_scenario
from optimizer.answers.compare.compare import COMPARABLE
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.plan.record.report import PlanReport

SHIPPED = sorted(file.stem for file in shipped_dir("scenarios").glob("*.yaml"))
COUNTED = re.compile(r"(\d+)× (?:(\d+)×)?[a-z0-9-]+ [a-z0-9_/]+ \(")
COMPARED = {
    "account-limits": "region",
    "api-at-night": "gpu",
    "mixed-chat-rag": "precision",
    "spot-summaries": "provider",
    "two-models": "pricing_term",
}
"""Of all that puts several entries into a phrase: regions, hosted APIs beside machines, pools, zones, workloads. The
phrase knows nothing of the choice compared, so each choice is taken once, where it leaves several plans."""


def gpus_in(phrase: str) -> int:
    return sum(int(instances) * int(gpus or 1) for instances, gpus in COUNTED.findall(phrase))


@pytest.mark.parametrize("name", [name for name in SHIPPED if name not in ("infeasible-latency", "own-rack")])
def test_the_first_line_of_a_plan_has_all_its_gpus(name: str, planned: Callable[[str], PlanReport]) -> None:
    report = planned(name)
    assert gpus_in(report.explanation.summary) == sum(purchase.gpus for purchase in report.purchases)


def test_every_choice_is_compared_once() -> None:
    assert sorted(COMPARED.values()) == sorted(by for by in COMPARABLE if by != "hosting")


@pytest.mark.slow("compares several scenarios")
@pytest.mark.parametrize(("name", "by"), COMPARED.items())
def test_every_row_of_a_comparison_has_all_its_gpus(name: str, by: str, catalogs: Catalogs) -> None:
    rows = compare(load_scenario(name), catalogs, by, work_limit=6_000).choices
    assert [row.choice for row in rows if row.gpus is not None and gpus_in(row.summary) != row.gpus] == []
