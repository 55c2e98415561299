"""The documents say what is: schemas, scenario fields, links, commands."""

import re
from pathlib import Path

import pytest
from support.golden import Golden
from support.paths import ROOT

from optimizer.base.model import Strict
from optimizer.inputs.scenario import demand, fields, scenario
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.report.schemas import SCHEMAS, schema

PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "docs").glob("llms.txt"),
        *(ROOT / "catalogs").glob("*.md"),
    ]
)
RECORDS = [
    *(
        "Scenario",
        "Workload",
        "AlternativeModel",
        "ArrivalProcess",
        "RecordedRequests",
        "Slo",
        "Latency",
        "RequestClass",
        "RequestLengths",
        "Demand",
        "TokensPerDay",
        "Deadline",
        "LoraAdapters",
        "Draft",
        "Policy",
        "AllowDeny",
    ),
    *("Quota", "Countries", "Regions", "Survive", "Grid", "Robust", "Spot", "Elastic", "PerSecond", "Egress"),
    "Migration",
    "InForce",
    *("Lifecycle", "TrainingRun", "Checkpoints", "MeasuredRun", "Horizon", "GrowthBranch", "PriceChange"),
    *("Risk", "Spread", "DaysSpread", "PriceSpread", "Correlations"),
]
ELSEWHERE = {"RecordedRequests": demand, "Regions": fields}
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
FIELD = re.compile(r"^\| `(\w+)` \|\s*([^|]*?)\s*\|", re.MULTILINE)

pytestmark = pytest.mark.skipif(not PAGES, reason="the documents stand in the checkout")


@pytest.mark.parametrize("name", SCHEMAS)
def test_published_schemas_are_those_of_the_code(name: str, golden: Golden) -> None:
    golden(ROOT / "docs" / "schemas" / f"{name}.json", schema(name))


@pytest.mark.parametrize("record", RECORDS)
def test_every_scenario_field_is_described_with_its_default(record: str) -> None:
    page = (ROOT / "docs" / "scenario.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {record}\n", maxsplit=1)[1].split("\n## ", maxsplit=1)[0]
    model: type[Strict] = getattr(ELSEWHERE.get(record, scenario), record)
    told = dict(FIELD.findall(section))
    assert list(told) == list(model.model_fields)
    for name, field in model.model_fields.items():
        assert (told[name] == "required") == field.is_required(), name
        if isinstance(field.default, bool):
            assert told[name] == str(field.default).lower(), name
        elif isinstance(field.default, int | float):
            assert told[name] == f"{field.default:g}", name


def test_the_documented_records_are_all_there_are() -> None:
    assert set(Scenario.model_json_schema()["$defs"]) | {"Scenario"} == set(RECORDS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_page_stands_in_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / target).resolve() for target in LINK.findall(index.read_text(encoding="utf-8"))}
    decisions = ROOT / "docs" / "decisions"
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page != index and page.parent != decisions]
    assert decisions in listed
    assert [page.name for page in pages if page not in listed] == []


def test_the_map_for_agents_is_that_of_the_index() -> None:
    listed = (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8")
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert set(LINK.findall(index)) - set(LINK.findall(listed)) == {"schemas"}
