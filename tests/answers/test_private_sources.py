"""What a private source is called stands in no output; that there is one does."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.gate_cases import scenario, world

from optimizer.answers.compare.compare import compare
from optimizer.answers.planning.optimize import optimized
from optimizer.base.clock import Clock
from optimizer.inputs.catalog.entries.sources import Source
from optimizer.inputs.catalog.records import Catalogs
from optimizer.report.compare.compare import compare_answer, compare_csv, compare_html
from optimizer.report.export import as_json, rendered
from optimizer.report.plan.sections import plan_answer

SECRET = "Acme deal of 37 percent"


@pytest.fixture
def secret(catalogs: Catalogs) -> Catalogs:
    """One offer, of a private source."""
    small = world(catalogs, l4="0.50")
    source = Source(id=small.offers[0].source, title=SECRET, licence="Private", as_of=small.as_of)
    return replace(small, sources={**small.sources, source.id: source})


def test_a_plan_says_that_its_source_is_private(secret: Catalogs, tmp_path: Path) -> None:
    report = optimized(scenario(tmp_path).scenario, secret, Clock()).report
    assert {d.provenance.price_source for d in report.deployments} == {"a private source"}
    written = [rendered(plan_answer(report, verbose=True), report, form) for form in ("text", "json", "markdown")]
    assert not any(SECRET in text for text in written)


def test_a_comparison_says_no_more(secret: Catalogs, tmp_path: Path) -> None:
    answer = compare(scenario(tmp_path).scenario, secret, "provider")
    forms = [rendered(compare_answer(answer), answer, "text"), compare_csv(answer), compare_html(answer)]
    assert not any(SECRET in text for text in (*forms, as_json(answer)))


@pytest.mark.parametrize(
    ("title", "url"),
    [
        ("github.com/a/b@1f2 src/x.json (from https://acme.dev/pricing)", "https://acme.dev/pricing"),
        ("github.com/a/b.c@1f2 src/x.json", "https://github.com/a/b.c/tree/1f2"),
        ("PyPI some-prices 0.2.3 (by someone), prices", "https://pypi.org/project/some-prices/0.2.3/"),
        ("a letter", ""),
    ],
)
def test_a_source_is_linked_where_its_title_says_where(title: str, url: str, secret: Catalogs) -> None:
    source = Source(id="x", title=title, licence="MIT", as_of=secret.as_of)
    assert source.url == url
    assert source.model_copy(update={"licence": "private"}).url == ""
