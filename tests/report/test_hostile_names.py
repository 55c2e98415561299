"""Names that pass loading are shown by every form of every answer, and acted upon by none."""

import csv
import io
import json
import re
import zipfile
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt
from support.command import Command
from support.gate_cases import baseline, scenario, world
from support.paths import TESTS

from optimizer.answers.compare.types import Comparison
from optimizer.answers.gate.gate import gate
from optimizer.answers.gate.rules.demands import GateLimits
from optimizer.answers.gate.types import GateReport
from optimizer.base.errors import Finding, InputError
from optimizer.base.signs import hidden_sign
from optimizer.cli.terminal import harmless, say_findings
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.record.report import PlanReport
from optimizer.report.compare.chart import compare_chart
from optimizer.report.compare.compare import compare_answer, compare_csv, compare_html
from optimizer.report.compare.sheet import compare_xlsx
from optimizer.report.export import as_json
from optimizer.report.gate.comment import gate_comment
from optimizer.report.gate.gate import gate_answer
from optimizer.report.gate.junit import gate_junit
from optimizer.report.gate.sarif import gate_sarif
from optimizer.report.layout.cells import csv_cell
from optimizer.report.layout.elements import Table
from optimizer.report.layout.html import answer_html, section_html
from optimizer.report.layout.markdown import answer_markdown, code, escaped, table_markdown
from optimizer.report.layout.text import answer_text
from optimizer.report.plan.charts import cost_chart
from optimizer.report.plan.sections import plan_answer

NAMES = (
    '=HYPERLINK("http://evil.example","pay")',
    "@SUM(1+1)*cmd|'/C calc'!A0",
    "-2+3|x",
    "+1|`|<b>",
    "<script>alert(1)</script>",
    "</td><img src=x onerror=alert(1)>",
    "@everyone and @octocat, see #1 and !2",
    "[free](http://evil.example) ![](http://evil.example/x.png)",
    "[a]: http://evil.example",
    "www.evil.example https://evil.example <https://evil.example>",
    "`x` ``y`` ```z",
    "**bold** _it_ ~~no~~ \\[x](y) &lt; &#64;",
    "::error::forged ##[command]x",
    "# heading",
    "--> <!-- optimizer-gate -->",
    "$a_{$ \\frac$",
    "$x$ $$y$$",
    "é@org/team 日@bob a@b.com GH-12",
    ":100: :white_check_mark: :+1:",
    "x ##vso[task.setvariable variable=x]y ##[error]z",
    "']]>&\"",
    "nan",
    "1e999",
)
MARKDOWN = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable(["table", "strikethrough"])
TAKEN = r"^\s*::|##\[|##vso\["
"""What runners take for a command."""
LIVE = {"html_inline", "html_block", "link_open", "image", "strong_open", "em_open", "s_open", "autolink"}


def stored(path: str, known: str, name: str) -> str:
    """A stored answer in which a provider has another name."""
    text = (TESTS / "golden" / path).read_text(encoding="utf-8")
    assert known in text
    return text.replace(known, json.dumps(name)[1:-1])


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    assert not hidden_sign(request.param)
    return str(request.param)


@pytest.fixture
def compared(name: str) -> Comparison:
    return Comparison.model_validate_json(stored("compare/providers.json", "novita", name))


@pytest.fixture
def plan(name: str) -> PlanReport:
    return PlanReport.model_validate_json(stored("reports/feasible.json", "packet-ai", name))


@pytest.fixture
def gated(name: str, catalogs: Catalogs, gate_report: GateReport) -> GateReport:
    del catalogs
    return GateReport.model_validate_json(as_json(gate_report).replace("l4house", json.dumps(name)[1:-1]))


@pytest.fixture(scope="module")
def gate_report(catalogs: Catalogs, tmp_path_factory: pytest.TempPathFactory) -> GateReport:
    folder = tmp_path_factory.mktemp("gate")
    file = scenario(folder, "one", 2)
    before = baseline(file, world(catalogs, l4="0.50", l40s="1.50"))
    limits = GateLimits(max_monthly_usd=Decimal(1))
    today = world(catalogs, l4="0.55", l40s="1.50")
    today = replace(today, offers=tuple(each.model_copy(update={"region": "l4house"}) for each in today.offers))
    report = gate([file], today, limits, [before])
    assert "l4house" in as_json(report)
    return report


def live(text: str) -> set[str]:
    """Everything in a Markdown page that is more than text, code, tables and lists."""
    found = set()
    for token in MARKDOWN.parse(text):
        found |= {token.type} & LIVE
        found |= {child.type for child in token.children or ()} & LIVE
    return found


def visible(text: str) -> str:
    """What a Markdown page says: text and code."""
    tokens = (child for token in MARKDOWN.parse(text) for child in token.children or ())
    return "".join(child.content if child.type in ("text", "code_inline", "text_special") else " " for child in tokens)


def test_text_is_shown_as_it_is_in_markdown(name: str) -> None:
    for text in (name, f"{name} {name}", f"a {name} and `code` {name}", f"`{name}"):
        assert not live(f"- {escaped(text)}")
        assert not [token for token in MARKDOWN.parse(f"- {escaped(text)}") if token.type == "heading_open"]
    (shown,) = [token.children or [] for token in MARKDOWN.parse(code(name)) if token.type == "inline"]
    assert [(child.type, child.content) for child in shown] == [("code_inline", name)]


def test_markdown_of_a_plan_and_a_comparison(plan: PlanReport, compared: Comparison, name: str) -> None:
    for answer in (plan_answer(plan, verbose=True), compare_answer(compared)):
        page = answer_markdown(answer)
        assert not live(page)
        rows = [len(re.findall(r"(?<!\\)\|", line)) for line in page.splitlines() if line.startswith("|")]
        headings = [len(s.table.headings) + 1 for s in answer.sections if s.table.rows for _ in (0, 1, *s.table.rows)]
        assert rows == headings
    assert name.replace("`", "")[:8] in visible(page).replace("`", "").replace("\u200b", "")


def test_a_comment_mentions_nobody_and_links_nothing(gated: GateReport) -> None:
    comment = gate_comment(gated).text
    assert not live(comment) - {"html_block", "html_inline", "strong_open"}
    ours = re.sub(r"<!-- optimizer-gate -->|</?(details|summary|sub)>", "", comment)
    assert not re.search(r"<[a-z!/]", re.sub(r"`[^`\n]+`|```diff.*?```", "", ours, flags=re.DOTALL), re.IGNORECASE)
    assert comment.count("```") == 2
    # GitHub links after Markdown is done: no address, name or number is left in one piece
    shown = re.sub(r"(?<=:)\\(?=//)|(?<=www)\\(?=\.)", "\u200b", comment).replace("&#8203;", "\u200b")
    outside = re.sub(r"`[^`\n]+`|```diff.*?```", "", shown, flags=re.DOTALL)
    plain = re.sub(r"\\(?=[^\w\s])", "", outside)
    assert not re.findall(r"@\w|https?://|\bwww\.|GH-\d|\$x\$|\$\$|:(?:100|\+1|white_check_mark):", plain)


class Tags(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {tag, *(name for name, _ in attrs)}
        self.links += [value for name, value in attrs if name == "href" and value]


def test_html_holds_no_element_of_a_name(plan: PlanReport, compared: Comparison) -> None:
    answer = plan_answer(plan, verbose=True)
    page = answer_html(answer.title, answer.summary, True, map(section_html, answer.sections))
    unlinked = compared.model_copy(
        update={"sources": [each.model_copy(update={"url": "javascript:alert(1)"}) for each in compared.sources]}
    )
    for found in (page, compare_html(unlinked)):
        assert not Tags(found).found & {"script", "img", "b", "a", "onerror", "href", "src"}
    linked = Tags(compare_html(compared))
    assert not linked.found & {"script", "img", "b", "onerror", "src"}
    assert linked.links == [each.url for each in compared.sources if re.fullmatch(r"https://\S+", each.url)]


def test_a_terminal_and_a_log_take_no_command(plan: PlanReport, compared: Comparison, gated: GateReport) -> None:
    for answer in (plan_answer(plan, verbose=True), compare_answer(compared), gate_answer(gated)):
        for written in (answer_text(answer), answer_markdown(answer)):
            assert not re.search(TAKEN, harmless(written), re.MULTILINE)
    for report in (plan, compared, gated):
        shown = harmless(as_json(report))
        assert not re.search(TAKEN, shown, re.MULTILINE)
        assert json.loads(shown) == json.loads(as_json(report))


def test_standard_error_takes_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    say_findings(InputError([Finding("x ##vso[a]b.yaml", 1, "", "unknown '##[c]'")]))
    assert capsys.readouterr().err == "error: x \\u0023#vso[a]b.yaml:1: unknown '\\u0023#[c]'\n"


def test_code_keeps_its_bars_outside_tables() -> None:
    assert escaped("run `a | b`") == "run `a | b`"
    assert "`a \\| b`" in table_markdown(Table(("",), (("run `a | b`",),)))


def test_what_github_acts_upon_is_told_apart_and_figures_stay() -> None:
    ours = "$5 and $4/month, 12:30:45, scenario.yaml:3: x"
    assert escaped(ours) == ours
    assert escaped("é@org a@b.c $`x`$") == "é@&#8203;org a@&#8203;b.c $&#8203;`x`$&#8203;"


@pytest.mark.parametrize("sign", "=+-@\t\r\n＝＋－＠")
def test_no_cell_begins_as_a_formula(sign: str) -> None:
    assert csv_cell(f"{sign}A1") == f"'{sign}A1"


def test_names_of_files_cannot_move_the_cursor() -> None:
    assert harmless("a\x1b[31m\u202eb\n") == "a\\u001b[31m\\u202eb\n"
    assert json.loads(harmless('"a\u200b\x7f"')) == "a\u200b\x7f"
    shown = harmless("  ::set-output x\n##vso[x] ###[y]\n## heading\n")
    assert shown == "  \\::set-output x\n\\u0023#vso[x] #\\u0023#[y]\n## heading\n"


def test_a_sheet_runs_no_formula(compared: Comparison, name: str) -> None:
    lines = list(csv.reader(io.StringIO(compare_csv(compared))))
    cells = [cell for line in lines for cell in line]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@")) and not re.fullmatch(r"-?[\d.]+", cell)]
    assert {name, f"'{name}"} & {*cells}


def test_a_spreadsheet_holds_text_and_numbers_only(compared: Comparison, name: str) -> None:
    with zipfile.ZipFile(io.BytesIO(compare_xlsx(compared))) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
        strings = ET.fromstring(book.read("xl/sharedStrings.xml"))
        assert not [part for part in book.namelist() if "rels" in part and "sheet1" in part]
    assert "<f>" not in sheet
    assert "hyperlink" not in sheet
    assert name in {text.text for text in strings.iter() if text.text}


def test_junit_and_sarif_are_sound(gated: GateReport, name: str) -> None:
    said = "".join(ET.fromstring(gate_junit(gated)).itertext())
    assert said
    log = json.loads(gate_sarif(gated))
    for result in log["runs"][0]["results"]:
        assert not re.search(r"(?<!\\)\[[^\]]*\]\(", result["message"]["text"]), name


def test_junit_holds_only_what_xml_can(gate_report: GateReport) -> None:
    reached = gate_report.rules[0].model_copy(update={"text": "s\x01\ud800.yaml", "state": "broken"})
    (failure,) = ET.fromstring(gate_junit(gate_report.model_copy(update={"rules": (reached,)}))).iter("failure")
    assert failure.text == "s\ufffd\ufffd.yaml"


@pytest.mark.parametrize("name", ["$a_{$ \\frac$", "a$", "<b>&"])
def test_charts_show_a_name_with_dollars(name: str) -> None:
    plan = PlanReport.model_validate_json(stored("reports/feasible.json", "h100-sxm", name))
    compared = Comparison.model_validate_json(stored("compare/providers.json", "novita", name))
    for drawing in (cost_chart(plan.deployments, plan.purchases), compare_chart(compared, 5)):
        assert name in "".join(ET.fromstring(drawing).itertext())


def test_names_of_an_overlay_pass_from_loading_to_the_sheet(optimizer: Command, tmp_path: Path) -> None:
    columns = (
        "provider,provider_kind,region,instance_type,gpu,gpu_count,link,price_usd_per_hour,pricing_term,as_of,source"
    )
    row = "=cmd|calc!A0,neocloud,@SUM(1),-2+3,h100-sxm,1,none,1.9,on_demand,2026-11-20,acme,listed,=1+1"
    (tmp_path / "offers.csv").write_text(f"{columns},confidence,note\n{row}\n")
    (tmp_path / "sources.csv").write_text("id,title,licence,as_of\nacme,<b>Acme</b>,none,2026-11-20\n")
    shown = optimizer("catalog", "list", "offers", "--catalogs", str(tmp_path), "--filter", "=cmd")
    assert shown.code == 0
    assert "=cmd|calc!A0" in shown.out
