"""Names that deceive the eye are refused where they are declared: what cannot be seen, what looks like another."""

import itertools
import json
from pathlib import Path

import pytest
from support.command import Command

from optimizer.base.errors import InputError
from optimizer.base.files import read_json
from optimizer.base.signs import hidden_sign, look, mixed_scripts
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.scenario.loading import load_scenario

SOURCES = "id,title,licence,as_of\nacme,Acme,none,2026-11-20\n"
COLUMNS = (
    "provider,provider_kind,region,instance_type,gpu,gpu_count,link,price_usd_per_hour,pricing_term,as_of,source,"
    "confidence,note\n"
)
ROW = "{provider},neocloud,{region},{instance},h100-sxm,1,none,2,on_demand,2026-11-20,acme,listed,{note}\n"
NAMES = {"provider": "acme", "region": "r1", "instance": "i1", "note": ""}
SCENARIO = """\
name: s
workloads:
  - {name: c, model: llama-3.1-8b, requests_per_second: 1, input_tokens: 100, output_tokens: 50}
"""
ZERO_WIDTH, RIGHT_TO_LEFT, ESCAPE, NULL, FILLER = "\u200b", "\u202e", "\x1b", "\x00", "\u3164"

IN_PROSE = ("\ufe0f", "\u200c", "\u200d", "\xa0")
"""What nobody sees and yet belongs to writing."""


def overlay(folder: Path, *rows: dict[str, str], **files: str) -> Path:
    """Own catalogs with an offer for each group of names given."""
    offers = COLUMNS + "".join(ROW.format(**(NAMES | row)) for row in rows)
    for name, content in ({"offers": offers, "sources": SOURCES} | files).items():
        (folder / f"{name}.csv").write_text(content, encoding="utf-8")
    return folder


def refused(folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_catalogs(folder)
    return str(caught.value)


@pytest.mark.parametrize(
    ("sign", "column"),
    [
        *itertools.product(
            [ZERO_WIDTH, RIGHT_TO_LEFT, ESCAPE, NULL, FILLER, "\u00ad", "\ufeff", "\ue000"],
            ["provider", "region", "instance", "note"],
        ),
        *itertools.product(IN_PROSE, ["provider", "region", "instance"]),
    ],
)
def test_a_catalog_holds_no_sign_that_nobody_sees(sign: str, column: str, tmp_path: Path) -> None:
    said = refused(overlay(tmp_path, {column: f"ac{sign}me"}))
    field = "instance_type" if column == "instance" else column
    assert f"offers.csv:2: {field}: holds a sign that nobody sees: U+{ord(sign):04X}" in said


def test_free_text_may_hold_what_belongs_to_writing(tmp_path: Path) -> None:
    text = "".join(f"a{sign}b" for sign in IN_PROSE)
    load_catalogs(overlay(tmp_path, {"note": text}))
    (tmp_path / "s.yaml").write_text(SCENARIO.replace("name: s", f"name: s\ndescription: {text}"), encoding="utf-8")
    assert load_scenario(str(tmp_path / "s.yaml")).description == text
    (tmp_path / "p.json").write_text(json.dumps({"catalog": [{"notes": [text], "note": text}]}))
    assert read_json(tmp_path / "p.json")
    (tmp_path / "p.json").write_text(json.dumps({"notes": [{"provider": text}]}))
    with pytest.raises(InputError, match="provider"):
        read_json(tmp_path / "p.json")


def test_a_note_may_have_lines_and_a_name_may_not(tmp_path: Path) -> None:
    load_catalogs(overlay(tmp_path, {"note": '"one\ntwo"'}))
    assert "offers.csv:2: instance_type: holds a sign that nobody sees: U+000A" in refused(
        overlay(tmp_path, {"instance": '"i\n1"'})
    )


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"provider": "Lambda"}, "'Lambda' looks like 'lambda' of catalogs/"),
        ({"provider": "\uff4cambda"}, "'\uff4cambda' looks like 'lambda' of catalogs/"),
        ({"provider": "l\u0430mbda"}, "'l\u0430mbda' mixes Cyrillic and Latin letters"),
        ({"provider": "\u03bfpenai"}, "mixes Greek and Latin letters"),
        ({"provider": "gpt4\u043e"}, "'gpt4\u043e' mixes Cyrillic and Latin letters"),
        ({"provider": "\u0430\u0301cme"}, "mixes Cyrillic and Latin letters"),
        ({"instance": "i1\u2010x"}, "'acme/r1/i1\u2010x/h100-sxm/on_demand' looks like 'acme/r1/i1-x/"),
        ({"region": "R1"}, "'acme/R1' looks like 'acme/r1' of "),
        ({"instance": "I1"}, "'acme/r1/I1/h100-sxm/on_demand' looks like 'acme/r1/i1/h100-sxm/on_demand'"),
    ],
)
def test_no_two_names_of_a_kind_look_alike(row: dict[str, str], said: str, tmp_path: Path) -> None:
    found = refused(overlay(tmp_path, {}, {"instance": "i1-x"}, row)).splitlines()
    assert any("offers.csv:4: " in line and said in line for line in found)


def test_names_of_one_script_are_names(tmp_path: Path) -> None:
    known = load_catalogs(overlay(tmp_path, {"provider": "облако"}, {"provider": "算力云h20"}, {"provider": "Größe"}))
    assert {"облако", "算力云h20", "Größe"} <= {offer.provider for offer in known.offers}


def test_shipped_names_deceive_nobody() -> None:
    load_catalogs()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("llama-3.1-8b", rf'"llama{ESCAPE}"'.replace(ESCAPE, r"\e"), "s.yaml:3: workloads[c].model: holds a sign"),
        ("llama-3.1-8b", f"llama{RIGHT_TO_LEFT}-3.1-8b", "s.yaml:3: workloads[c].model: holds a sign that nobody sees"),
        ("name: s", f"name: s\ndescription: a{ZERO_WIDTH}b", "s.yaml:2: description: holds a sign"),
        ("name: s", f"na{ZERO_WIDTH}me: s", "s.yaml:1: a field's name holds a sign"),
        ("name: c", f"name: c, trace: x{ZERO_WIDTH}.csv", "s.yaml:3: workloads[c].trace: holds a sign"),
        (
            SCENARIO,
            SCENARIO + SCENARIO.splitlines()[2].replace("name: c", "name: C") + "\n",
            "two are named c",
        ),
    ],
)
def test_a_scenario_holds_no_such_name(old: str, new: str, said: str, optimizer: Command, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO.replace(old, new), encoding="utf-8")
    result = optimizer("plan", str(tmp_path / "s.yaml"))
    assert result.code == 2
    assert said in result.err


@pytest.mark.parametrize("written", [ZERO_WIDTH, r"\u200b", r"\u200B"])
def test_json_is_refused_at_the_line_of_the_sign(written: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text('{"a": [1,\n {"b": "x' + written + '"}]}', encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_json(path)
    (finding,) = caught.value.findings
    assert (finding.line, finding.field) == (2, "a[1].b")
    assert "U+200B (zero width space)" in finding.problem
    path.write_text(json.dumps({"text": 'two\nlines, a quote " and a backslash \\'}))
    assert read_json(path)


def test_a_baseline_holds_no_such_name(optimizer: Command, tmp_path: Path) -> None:
    plan = {"schema_version": 1, "scenario": f"s{RIGHT_TO_LEFT}", "outcome": "infeasible", "monthly_cost_usd": None}
    (tmp_path / "old.json").write_text(json.dumps(plan | {"deployments": []}))
    (tmp_path / "s.yaml").write_text(SCENARIO)
    result = optimizer("gate", str(tmp_path / "s.yaml"), "--baseline", str(tmp_path / "old.json"))
    assert result.code == 2
    assert "old.json:1: scenario: holds a sign that nobody sees: U+202E" in result.err


TERMS = ("--source", "acme", "--as-of", "2026-11-20", "--provider-kind", "neocloud")
PRICES = "provider,provider_kind,region,instance_type,gpu,gpu_count,price_usd_per_hour,pricing_term\n"
PRICE = "{},neocloud,r1,{},h100-sxm,1,2,on_demand\n"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((f"ac{ZERO_WIDTH}me", "i1"), "prices.csv:2: provider: holds a sign that nobody sees: U+200B"),
        (("acme", '"i\n1"'), "its name holds a sign that nobody sees: U+000A"),
        (("\u0430cme", "i1"), "prices.csv:2: \u0430cme: its name mixes Cyrillic and Latin letters"),
        (("\uff4cambda", "i1"), "prices.csv:2: \uff4cambda: its name looks like lambda"),
    ],
)
def test_a_price_list_brings_no_such_name(rows: tuple[str, str], said: str, optimizer: Command, tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(PRICES + PRICE.format(*rows), encoding="utf-8")
    terms = (*TERMS, "--output", str(tmp_path / "own"))
    result = optimizer("catalog", "import", str(path), *terms)
    assert result.code == 2
    assert said in result.err


def test_what_looks_alike_within_a_price_list_is_left_out(optimizer: Command, tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(PRICES + PRICE.format("acme", "a1") + PRICE.format("acme", "A1"))
    terms = (*TERMS, "--output", str(tmp_path / "own"))
    result = optimizer("catalog", "import", str(path), *terms)
    assert result.code == 0
    assert "its name looks like" in " ".join(result.out.split())
    load_catalogs(tmp_path / "own")


def test_what_is_seen_is_let_through() -> None:
    assert not hidden_sign("a – b × 3 € “quoted” 算 é")
    assert not hidden_sign("a\n\tb", lines=True)
    assert look("Ａ１") == look("a1")
    assert not mixed_scripts("算力cloud")


@pytest.mark.parametrize("sign", "\u180b\u180c\u180d\u180f\U00016fe4\U0001d159\U00013441\U00013442")
def test_letters_that_show_nothing_are_hidden(sign: str) -> None:
    assert hidden_sign(f"a{sign}").startswith(f"U+{ord(sign):04X}")


@pytest.mark.parametrize(
    "name", ["Яндекс Cloud", "VK Облако", "Москва (MSK-1)", "Δ-cloud", "Qwen3 β", "µs-cloud", "50 µm", "µ-Облако"]
)
def test_words_of_two_scripts_may_stand_side_by_side(name: str) -> None:
    assert not mixed_scripts(name)


@pytest.mark.parametrize("sign", "\u2010\u2011\u2012\u2013\u2014\u2212\uff0d\ufe58")
def test_a_dash_is_a_dash(sign: str) -> None:
    assert look(f"a{sign}b") == look("a-b")


@pytest.mark.parametrize(
    ("name", "alike"), [("l\u2019oeil", "l'oeil"), ("a\u2215b", "a/b"), ("\u201ca\u201d", '"a"'), ("a\u2236b", "a:b")]
)
def test_quotes_and_slashes_look_alike(name: str, alike: str) -> None:
    assert look(name) == look(alike)
