"""The HTML page is whole, stands alone, says what the text says, and is the same every time."""

import re
from collections.abc import Callable
from dataclasses import replace
from html import escape, unescape
from html.parser import HTMLParser

import pytest

from optimizer import load_scenario
from optimizer.answers.planning import page as answers_page
from optimizer.answers.planning.optimize import optimized
from optimizer.answers.planning.page import Page, page
from optimizer.base import extras
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.grounds.pictures import IN_PLAN, NOT_OFFERED, names_in_charts
from optimizer.report.plan.charts import drawn, moves
from optimizer.report.plan.page import page_html
from optimizer.report.plan.sections import plan_sections

VOID = {"meta", "img"}


@pytest.fixture(scope="module")
def few(market_of: Callable[..., Catalogs]) -> Catalogs:
    return market_of("lambda", "theta")


@pytest.fixture(scope="module")
def found(few: Catalogs) -> Page:
    """All that a page holds, of a plan whose limits were not all varied: that takes long and is tested elsewhere."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(answers_page, "optimized", lambda *asked, **_: optimized(*asked))
        patched.setattr(answers_page, "FRONTIER_POINTS", 3)
        return page(load_scenario("chat-70b"), few)


@pytest.fixture(scope="module")
def html(found: Page) -> str:
    return page_html(found)


class Balanced(HTMLParser):
    """Checks that every tag is closed where it was opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_loads_nothing(html: str) -> None:
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    sources = re.findall(r'(?:src|href)="([^"]{0,30})', html)
    assert sources
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert "<script" not in html
    assert 'name="viewport"' in html
    assert html.count("<img alt=") == len(sources)


def test_the_page_says_what_the_text_says(html: str, found: Page) -> None:
    words = unescape(html)
    assert found.report.explanation.summary in words
    for section in plan_sections(found.report, verbose=True):
        assert f"<h2>{section.title}</h2>" in words
        assert all(line in words for line in section.lines)
    assert "Latency against load" in html
    assert "Roofline" in html
    assert "What a limit costs" in html


def test_the_first_page_is_for_who_decides(html: str) -> None:
    first, _, rest = html.partition('<div class="rest">')
    titles = re.findall(r"<h2>([^<]+)</h2>", first)
    assert titles == ["Question", "Plan", "What else it could cost", "Before you sign"]
    assert "<img" not in first
    assert "<h2>How sure</h2>" in rest


def test_tables_are_read_aloud_and_screens_may_be_dark_or_narrow(html: str) -> None:
    tables = re.findall(r"<table>.*?</table>", html)
    assert tables
    for table in tables:
        assert re.match(r"<table><caption>[^<]+</caption><thead><tr><th scope=\"col\"", table)
        rows = re.findall(r"<tr>(.*?)</tr>", table.partition("<tbody>")[2])
        assert rows
        assert all(row.startswith('<th scope="row"') and row.count("<th") == 1 for row in rows)
    wide = html.count('<div class="wide" role="region" tabindex="0" aria-label="')
    assert wide == len(tables) + html.count("<img")
    assert "prefers-color-scheme: dark" in html
    assert "width=device-width" in html


def test_a_chart_that_would_be_flat_or_blank_is_a_sentence(found: Page) -> None:
    assert found.frontier is not None
    (first, *_) = found.frontier.points
    flat = found.frontier.model_copy(update={"points": [first, first]})
    doubtful = found.frontier.model_copy(
        update={"points": [point.model_copy(update={"outcome": "feasible"}) for point in found.frontier.points]}
    )
    assert not moves(doubtful)
    (curve, *_) = found.curves
    nothing = curve.ttft_ms * float("nan")
    html = page_html(replace(found, frontier=flat, curves=(replace(curve, ttft_ms=nothing, tpot_ms=nothing),)))
    assert html.count("<img") == page_html(found).count("<img") - 1 - len(found.curves)
    assert f"<h2>What a limit costs</h2><ul><li>{escape(flat.summary)}</li></ul>" in html
    assert "Latency against load" not in html


def test_the_same_answer_gives_the_same_bytes(html: str, found: Page) -> None:
    assert page_html(found) == html


def test_the_maps_show_the_plan_and_why_others_failed(found: Page) -> None:
    (shown,) = found.rejections
    cells = {
        (gpu, precision): shown.verdicts[y][x]
        for y, gpu in enumerate(shown.gpus)
        for x, precision in enumerate(shown.precisions)
    }
    for d in found.report.deployments:
        assert cells[d.gpu, d.precision] == IN_PLAN
    assert {"quality"} <= set(cells.values())
    assert all(any(cells[gpu, p] != NOT_OFFERED for gpu in shown.gpus) for p in shown.precisions)
    assert all(any(cells[gpu, p] != NOT_OFFERED for p in shown.precisions) for gpu in shown.gpus)


def test_deployments_that_run_the_same_are_told_apart_in_charts(found: Page) -> None:
    d, *_ = found.report.deployments
    one = names_in_charts([d])
    elsewhere = d.model_copy(update={"provider": "elsewhere"})
    reserved = d.model_copy(update={"pricing_term": "reserved_1y"})
    assert names_in_charts([d, d.model_copy(update={"gpu": "l4"})])[0] == one[0]
    assert [name.rpartition(", ")[2] for name in names_in_charts([d, elsewhere])] == [f"{d.provider})", "elsewhere)"]
    assert len({*names_in_charts([d, elsewhere, reserved]), *one}) == 4


def test_curves_meet_their_limit_where_the_capacity_is(found: Page) -> None:
    for curve in found.curves:
        assert curve.planned_per_s <= curve.capacity_per_s
        for values, limit in ((curve.ttft_ms, curve.ttft_limit), (curve.tpot_ms, curve.tpot_limit)):
            assert limit is not None
            assert (values[curve.rate_per_s <= curve.capacity_per_s] <= limit[1] * 1.0001).all()


def test_without_a_plan_the_page_tells_the_conflict_and_the_way_out(few: Catalogs) -> None:
    raw = load_scenario("infeasible-latency")
    html = page_html(page(Scenario.model_validate(raw.model_dump()), few))
    assert "cannot be met" in html
    assert "Ways out, re-solved" in html
    assert html.count("<img alt=") == 1


def test_without_the_plotting_library_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(extras.importlib, "import_module", missing)
    with pytest.raises(InputError, match=r"llm-deployment-optimizer\[report\]"):
        drawn(1.0, lambda _: None)
