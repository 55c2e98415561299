"""Price lists of hosted APIs become rows by recorded names: per million tokens, as of their day, nothing guessed."""

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.command import Command

from optimizer.answers.catalog.imported import ImportedPrices, PriceListTerms
from optimizer.answers.catalog.importing import import_prices
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs

TERMS = PriceListTerms(source="list", as_of=date(2026, 11, 20))
CHAT = {"litellm_provider": "deepinfra", "mode": "chat", "max_input_tokens": 40960}
PRICED = CHAT | {"input_cost_per_token": 8e-08, "output_cost_per_token": 2.8e-07}
NAME = "deepinfra/Qwen/Qwen3-14B"


def imported(folder: Path, catalogs: Catalogs, content: object, terms: PriceListTerms = TERMS) -> ImportedPrices:
    (folder / "list.json").write_text(json.dumps(content), encoding="utf-8")
    return import_prices(folder / "list.json", catalogs, terms)


def reasons(found: ImportedPrices) -> list[tuple[str, str]]:
    return [(item.reason, item.about) for item in found.left_out]


def genai(prices: object, provider: str = "together", **more: object) -> list[dict[str, Any]]:
    """A list of one model, as prices/data.json of genai-prices holds it."""
    model = {"id": "Qwen/Qwen3-14B", "match": {"equals": "x"}, "context_window": 40960, "prices": prices}
    return [{"id": provider, "name": provider, "api_pattern": "x", "models": [model | more]}]


def test_litellm_prices_per_token_become_prices_per_million(tmp_path: Path, catalogs: Catalogs) -> None:
    example = {"sample_spec": {"litellm_provider": "one of", "mode": "one of: chat"}}
    cached = PRICED | {"cache_read_input_token_cost": 1.1999999999999999e-08}
    found = imported(tmp_path, catalogs, example | {NAME: cached})
    (row,) = found.apis
    assert (found.format_name, found.prices, row.provider, row.model) == ("litellm", 1, "deepinfra", "qwen3-14b")
    assert row.provider_model_name == "Qwen/Qwen3-14B"
    assert (row.usd_per_million_input_tokens, row.usd_per_million_output_tokens) == (Decimal("0.08"), Decimal("0.28"))
    assert row.usd_per_million_cached_input_tokens == Decimal("0.012")
    assert (row.max_input_tokens, row.as_of, row.source) == (40960, date(2026, 11, 20), "list")


def test_a_price_that_holds_for_short_prompts_is_taken_up_to_there(tmp_path: Path, catalogs: Catalogs) -> None:
    tiered = PRICED | {"max_input_tokens": 1_000_000, "input_cost_per_token_above_200k_tokens": 2e-07}
    tiers = {"base": 0.08, "tiers": [{"start": 200_000, "price": 0.2}]}
    lists: tuple[object, ...] = (
        {NAME: tiered},
        genai({"input_mtok": tiers, "output_mtok": 0.28}, context_window=1_000_000),
    )
    for content in lists:
        (row,) = imported(tmp_path, catalogs, content).apis
        assert (row.usd_per_million_input_tokens, row.max_input_tokens) == (Decimal("0.08"), 200_000)
        assert row.note == "longer prompts, up to 1,000,000 tokens, have another price"


def test_a_tier_without_a_price_is_none_and_a_whole_window_may_be_written_with_a_point(
    tmp_path: Path, catalogs: Catalogs
) -> None:
    untiered = PRICED | {"max_input_tokens": 1_000_000.0, "input_cost_per_token_above_200k_tokens": None}
    (row,) = imported(tmp_path, catalogs, {NAME: untiered}).apis
    assert (row.max_input_tokens, row.note) == (1_000_000, "")


def test_genai_prices_that_have_begun_hold_and_hosts_have_our_names(tmp_path: Path, catalogs: Catalogs) -> None:
    prices = [
        {"prices": {"input_mtok": 1, "output_mtok": 2}},
        {"constraint": {"start_date": "2026-11-01"}, "prices": {"input_mtok": 0.5, "output_mtok": 1.5}},
        {"constraint": {"start_date": "2027-01-01"}, "prices": {"input_mtok": 9, "output_mtok": 9}},
    ]
    found = imported(tmp_path, catalogs, genai(prices))
    (row,) = found.apis
    assert (found.format_name, row.provider, row.usd_per_million_output_tokens) == (
        *("genai-prices", "together_ai"),
        Decimal("1.5"),
    )


@pytest.mark.parametrize(
    ("changes", "reason", "about"),
    [
        ({"mode": "embedding"}, "is no model that writes text", "embedding"),
        ({"deprecation_date": "2026-11-19"}, "no longer served on the day of the prices", "2026-11-19"),
        ({"output_cost_per_reasoning_token": 1e-06}, "answers and thinking are priced apart", ""),
        ({"litellm_provider": "openrouter"}, "a router between hosts, or no host of its own", "openrouter"),
        ({"input_cost_per_token": 0}, "price is not above zero", NAME),
        ({"input_cost_per_token": -1e-06}, "price is not above zero", NAME),
        ({"output_cost_per_token": None}, "no price per token", NAME),
        ({"output_cost_per_token": True}, "entry cannot be read", NAME),
        ({"input_cost_per_request": "0.005"}, "entry cannot be read", NAME),
        ({"max_input_tokens": "40960"}, "entry cannot be read", NAME),
        ({"deprecation_date": "May 2026"}, "entry cannot be read", NAME),
        ({"litellm_provider": ""}, "the file does not say who hosts it", NAME),
        ({"input_cost_per_token": 1e6}, "usd_per_million_input_tokens cannot be read", NAME),
        ({"deprecation_date": {}, "input_cost_per_token": 10**400}, "entry cannot be read", NAME),
    ],
)
def test_what_cannot_be_planned_with_is_left_out_with_its_reason(
    changes: dict[str, Any], reason: str, about: str, tmp_path: Path, catalogs: Catalogs
) -> None:
    found = imported(tmp_path, catalogs, {NAME: PRICED | changes})
    assert (found.apis, reasons(found)) == ((), [(reason, about)])


def test_a_price_by_the_hour_and_a_broken_entry_are_left_out(tmp_path: Path, catalogs: Catalogs) -> None:
    by_hour = [{"prices": {}}, {"constraint": {"start_time": "00:30:00Z", "end_time": "16:30:00Z"}, "prices": {}}]
    assert reasons(imported(tmp_path, catalogs, genai(by_hour))) == [("price depends on the time of day", "")]
    entries: tuple[object, ...] = ("dear", [], {"input_mtok": {"tiers": 1}})
    for broken in entries:
        assert reasons(imported(tmp_path, catalogs, genai(broken)))[0][0] == "entry cannot be read"


def test_a_model_is_known_by_recorded_names_and_by_what_its_reader_says(tmp_path: Path, catalogs: Catalogs) -> None:
    """A fine-tune is no price of the model that it was made from."""
    listed = {"acme/their-own-name": PRICED | {"litellm_provider": "acme"}}
    assert reasons(imported(tmp_path, catalogs, listed)) == [("model not in the catalog", "acme")]
    named = PriceListTerms(source="list", as_of=TERMS.as_of, models={"Their-Own-Name": "qwen3-14b"})
    assert [row.model for row in imported(tmp_path, catalogs, listed, named).apis] == ["qwen3-14b"]
    tuned = next(alias for alias in catalogs.aliases.values() if alias.relation == "fine_tune")
    found = imported(tmp_path, catalogs, {f"acme/{tuned.hf_id}": PRICED | {"litellm_provider": "acme"}})
    assert reasons(found) == [("model not in the catalog", "acme")]
    with pytest.raises(InputError, match="unknown model 'qwen3-14'"):
        imported(tmp_path, catalogs, listed, PriceListTerms(source="s", as_of=TERMS.as_of, models={"x": "qwen3-14"}))


def test_two_listings_of_one_model_become_the_dearer_and_a_free_cache_is_none(
    tmp_path: Path, catalogs: Catalogs
) -> None:
    dearer = PRICED | {"input_cost_per_token": 2e-07, "cache_read_input_token_cost": 0}
    found = imported(tmp_path, catalogs, {NAME: dearer, "Qwen/Qwen3-14B": PRICED})
    (row,) = found.apis
    assert (row.usd_per_million_input_tokens, row.note, found.merged) == (
        *(Decimal("0.2"), "the highest of 2 listings"),
        1,
    )
    assert row.usd_per_million_cached_input_tokens is None
    assert found.remarks == (("cached input at a price of 0: read as no price of its own", 1),)


@pytest.mark.parametrize("content", [{}, [], [{"id": "x"}], {"a": {"b": 1}}, 3])
def test_a_file_that_is_no_such_list_says_what_is_known(content: object, tmp_path: Path, catalogs: Catalogs) -> None:
    with pytest.raises(InputError, match="no known price list of hosted APIs") as caught:
        imported(tmp_path, catalogs, content)
    assert "model_prices_and_context_window.json" in str(caught.value)


def test_source_and_day_are_demanded(tmp_path: Path, catalogs: Catalogs) -> None:
    with pytest.raises(InputError) as caught:
        imported(tmp_path, catalogs, {NAME: PRICED}, PriceListTerms())
    assert [finding.field for finding in caught.value.findings] == ["--as-of", "--source"]


def test_imported_prices_take_the_place_of_older_ones(optimizer: Command, tmp_path: Path, catalogs: Catalogs) -> None:
    """A row keeps the spelling that is known: two prices of one thing would both stand."""
    known = next(row for row in catalogs.serverless if row.provider == "deepinfra" and row.usd_per_million_input_tokens)
    name = known.provider_model_name.upper()
    (tmp_path / "prices.json").write_text(json.dumps({f"deepinfra/{name}": PRICED}), encoding="utf-8")
    said = optimizer(
        *("catalog", "import", str(tmp_path / "prices.json"), "--output", str(tmp_path / "own")),
        *("--source", "list", "--as-of", "2026-11-22", "--as", "litellm"),
    )
    assert said.out.startswith("1 price of hosted APIs imported\n  1 price of prices.json, read as litellm")
    own = load_catalogs(tmp_path / "own")
    assert len(own.serverless) == len(catalogs.serverless)
    assert [row.provider_model_name for row in own.serverless if row.source == "list"] == [known.provider_model_name]
