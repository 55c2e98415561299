"""The workbook and the CSV form: a buyer can order from them, and nobody's words are worked out as a formula."""

import csv
import io
import zipfile
from decimal import Decimal
from xml.etree import ElementTree as ET

import pytest
from support.paths import TESTS

from optimizer.answers.compare.types import Comparison
from optimizer.report.compare.chart import compare_chart
from optimizer.report.compare.compare import compare_csv, compare_html
from optimizer.report.compare.sheet import FORMATS, LINE_COLUMNS, compare_xlsx

SHEETS = ["comparison", "lines", "assumptions", "sources", "chart"]


@pytest.fixture(scope="module")
def answer() -> Comparison:
    stored = (TESTS / "golden" / "compare" / "providers.json").read_text(encoding="utf-8")
    return Comparison.model_validate_json(stored)


def renamed(answer: Comparison, name: str) -> Comparison:
    """The same, its first choice, its instance and a source called something else."""
    first, *others = answer.choices
    line = first.lines[0].model_copy(update={"provider": name, "item": name})
    mine = first.model_copy(update={"choice": name, "lines": [line]})
    source = answer.sources[0].model_copy(update={"title": name})
    return answer.model_copy(update={"choices": [mine, *others], "sources": [source]})


def parts(book: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(book)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def table(book: bytes, number: int) -> list[list[str]]:
    """The cells of a sheet as text, figures as they are stored."""
    files = parts(book)
    strings = ["".join(each.itertext()) for each in ET.fromstring(files["xl/sharedStrings.xml"])]
    rows = ET.fromstring(files[f"xl/worksheets/sheet{number}.xml"]).iterfind(".//{*}row")
    return [[_text(cell, strings) for cell in row] for row in rows]


def figures(book: bytes, number: int) -> int:
    """Cells of a sheet that hold a number and not text."""
    sheet = ET.fromstring(parts(book)[f"xl/worksheets/sheet{number}.xml"])
    return sum(cell.get("t") is None and cell.find("{*}v") is not None for cell in sheet.iterfind(".//{*}c"))


def _text(cell: ET.Element, strings: list[str]) -> str:
    value = cell.findtext("{*}v", "")
    return strings[int(value)] if cell.get("t") == "s" else value


def test_the_workbook_has_its_sheets_filters_headings_that_stay_and_a_chart(answer: Comparison) -> None:
    files = parts(compare_xlsx(answer))
    names = [sheet.get("name") for sheet in ET.fromstring(files["xl/workbook.xml"]).iterfind(".//{*}sheet")]
    assert names == SHEETS
    for number in range(1, len(SHEETS)):
        sheet = ET.fromstring(files[f"xl/worksheets/sheet{number}.xml"])
        assert sheet.find("{*}autoFilter") is not None
        assert sheet.find(".//{*}pane[@state='frozen']") is not None
        paper = sheet.find("{*}pageSetup")
        assert paper is not None
        assert (paper.get("orientation"), paper.get("fitToHeight")) == ("landscape", "0"), "one page wide"
    chart = ET.fromstring(files["xl/charts/chart1.xml"])
    places = [each.text for each in chart.iterfind(".//{*}f")]
    costs = sum(row.monthly_cost_usd is not None for row in answer.choices)
    assert places[:1] == [f"comparison!$B$2:$B${costs + 1}"]
    assert b"yyyy-mm-dd" in files["xl/styles.xml"]


def test_lines_hold_what_is_ordered(answer: Comparison) -> None:
    heading, line = table(compare_xlsx(answer), 2)
    assert heading == list(LINE_COLUMNS)
    said = dict(zip(heading, line, strict=True))
    assert (said["provider"], said["item"], said["count"]) == ("novita", "L40S", "2")
    assert float(said["unit_price_usd"]) * float(said["quantity_per_month"]) == pytest.approx(803)
    assert Decimal(said["monthly_cost_usd"]) == Decimal(803)
    assert figures(compare_xlsx(answer), 2) == sum(name in FORMATS for name in heading)


@pytest.mark.parametrize("name", ["=1+1", "+cmd|' /C calc'!A0", "@SUM(A1)", "-2+3", '=HYPERLINK("x")', "{=1}", "\t=1"])
def test_what_something_is_called_is_never_a_formula(name: str, answer: Comparison) -> None:
    book = compare_xlsx(renamed(answer, name))
    assert not any(b"<f>" in content for part, content in parts(book).items() if "worksheets" in part)
    assert name in [cell for row in table(book, 2) for cell in row]
    (cell,) = {line["choice"] for line in csv.DictReader(io.StringIO(compare_csv(renamed(answer, name))))} - {
        row.choice for row in answer.choices
    }
    assert cell == (name if name == "{=1}" else f"'{name}")


def test_links_open_and_other_sources_are_words(answer: Comparison) -> None:
    links = parts(compare_xlsx(answer))["xl/worksheets/_rels/sheet4.xml.rels"].decode()
    assert "https://novita.ai/pricing" in links
    page = compare_html(answer, chart=compare_chart(answer, 5))
    assert '<a href="https://novita.ai/pricing">' in page
    assert "<li>a letter</li>" in page


def test_the_page_holds_its_chart(answer: Comparison) -> None:
    page = compare_html(answer, chart=compare_chart(answer, 5))
    assert page.count("<svg") == page.count("</svg>") == 1
    assert "<?xml" not in page
    assert "<!DOCTYPE svg" not in page
    assert "<svg" not in compare_html(answer)
