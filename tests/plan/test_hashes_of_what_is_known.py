"""A plan's hashes change with everything that is known and that a plan depends on; what is left out is named here."""

from dataclasses import fields, replace
from types import SimpleNamespace

import pytest

from optimizer.inputs.catalog.entries.terms import Terms
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.record.origin import catalogs_sha256

NO_PLAN_DEPENDS_ON = {
    "sources": "where rows come from",
    "gpu_figures": "where the numbers of GPUs come from, which stand in their rows",
    "kept_promises": "quoted of plans, and made anew with each calibration",
    "deployment_shares": "read where own measurements become rows of the calibration, which is noticed",
    "offer_aliases": "read when other people's price lists are imported",
    "deploying": "what engines and tools call what a plan says",
    "engine_places": "files and lines",
    "price_places": "files and lines",
    "price_checks": "quoted of prices",
    "price_trends": "quoted of prices, and projected by purchases over months alone",
    "risk_spreads": "drawn from beside a plan",
    "serverless_checks": "quoted of prices",
    "discounts": "in the offers' prices",
}
NOT_SHIPPED = {"owned": SimpleNamespace(power_kw=None, instances=2), "available_instances": 2}


def _of(record: type) -> list[str]:
    return [each.name for each in fields(record) if each.name not in {*NO_PLAN_DEPENDS_ON, "as_of", "terms"}]


def _hashes(catalogs: Catalogs) -> dict[str, str]:
    return catalogs_sha256(catalogs, by_second=True)


@pytest.mark.parametrize("name", _of(Catalogs))
def test_a_table_that_changes_is_noticed(name: str, catalogs: Catalogs) -> None:
    known = getattr(catalogs, name)
    assert known, "an empty table proves nothing"
    assert _hashes(replace(catalogs, **{name: type(known)()})) != _hashes(catalogs)


@pytest.mark.parametrize("name", _of(Terms))
def test_terms_that_change_are_noticed(name: str, catalogs: Catalogs) -> None:
    known = getattr(catalogs.terms, name) or {catalogs.offers[0].id: NOT_SHIPPED[name]}
    full, empty = (replace(catalogs, terms=replace(catalogs.terms, **{name: rows})) for rows in (known, {}))
    assert _hashes(full) != _hashes(empty)


def test_whatever_is_left_out_exists() -> None:
    assert {each.name for record in (Catalogs, Terms) for each in fields(record)} >= NO_PLAN_DEPENDS_ON.keys()
