"""What a quality floor costs that keeps out precisions of which nobody published anything, each re-solved."""

from typing import Any

import pytest
from support.asking import CHAT, few_offers
from support.scenarios import proven

from optimizer.answers.explanation import savings
from optimizer.inputs.catalog.quality import SIXTEEN_BIT, alike_in_quality, quality_share
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA
from optimizer.plan.explain.unpublished import unpublished
from optimizer.plan.question.inquiry import Inquiry

UNPUBLISHED = CHAT | {"model": "gemma-3-27b", "min_quality": 0.9}


@pytest.fixture(scope="module")
def few(catalogs: Catalogs) -> Catalogs:
    return few_offers(catalogs)


def asked(catalogs: Catalogs, workload: dict[str, Any], **policy: Any) -> Inquiry:
    return Inquiry.of(
        Scenario.model_validate({"name": "floor", "workloads": [workload], "policy": policy}), catalogs
    ).for_comparison()


def test_each_unpublished_precision_is_priced_as_if_it_alone_were_accepted(few: Catalogs) -> None:
    inquiry = asked(few, UNPUBLISHED)
    bought = proven(inquiry)
    rows = {row.change: row for row in unpublished(inquiry, bought)}
    assert quality_share(few, "gemma-3-27b", "fp8") is None
    for precision in ("fp8", "int4"):
        accepting = UNPUBLISHED | {"unknown_quality": "accept"}
        lists = {"precisions": [*SIXTEEN_BIT, precision], "kv_precisions": [*SIXTEEN_BIT]}
        alone = proven(asked(few, accepting, **lists))
        row = rows[f"accepting {precision} without published quality"]
        assert row.monthly_cost_usd == alone.monthly_cost_usd
        assert row.difference_usd == alone.monthly_cost_usd - bought.monthly_cost_usd
    assert "accepting fp8 in the KV cache without published quality" in rows
    cheaper = [row for row in rows.values() if row.difference_usd is not None and row.difference_usd < 0]
    assert len(list(savings(list(rows.values())))) == len(cheaper) > 0


@pytest.mark.parametrize("own", [{"min_quality": None}, {"unknown_quality": "accept"}])
def test_nothing_is_priced_where_nothing_is_kept_out(own: dict[str, Any], few: Catalogs) -> None:
    inquiry = asked(few, UNPUBLISHED | own)
    assert list(unpublished(inquiry, proven(inquiry))) == []


def test_a_precision_that_was_published_is_not_called_unpublished(few: Catalogs) -> None:
    inquiry = asked(few, CHAT | {"min_quality": 0.9})
    priced = {row.change for row in unpublished(inquiry, proven(inquiry))}
    assert quality_share(few, "llama-3.1-8b", "fp8") is not None
    assert "accepting fp8 without published quality" not in priced


def test_a_good_mean_does_not_pass_the_floor_of_the_worst_benchmark(few: Catalogs) -> None:
    """INT4 keeps 0.98 of Qwen3-8B's mean and 0.74 of its MMLU-Pro; nobody published benchmarks of Gemma 2 2B's FP8."""
    inquiry = asked(few, CHAT | {"model": "qwen3-8b", "min_quality": 0.98, "min_quality_worst": 0.75})
    (options,) = inquiry.options
    names = [criterion.name for criterion in CONFIGURATION_CRITERIA]
    failed = options.pools[0].failed[:, [names.index("quality"), names.index("quality_worst")]]
    full = [row for row, c in enumerate(options.configurations) if c.kv_precision in SIXTEEN_BIT]
    kept = {options.configurations[row].precision: tuple(failed[row]) for row in full}
    assert (kept["fp8"], kept["int4"], kept["bf16"]) == ((False, False), (False, True), (False, False))


@pytest.mark.parametrize(("unknown", "serves"), [("avoid", False), ("reject", False), ("accept", True)])
def test_an_unknown_worst_benchmark_is_treated_as_an_unknown_mean(unknown: str, serves: bool, few: Catalogs) -> None:
    workload = CHAT | {"model": "gemma-2-2b", "min_quality_worst": 0.9, "unknown_quality": unknown}
    estimate = quality_share(few, "gemma-2-2b", "fp8")
    assert estimate is not None
    assert estimate.worst_share is None
    inquiry = asked(few, workload, precisions=["fp8"], kv_precisions=["bf16"])
    assert (inquiry.options[0].pools[0].passed.any()) == serves


def test_accepting_an_unpublished_worst_benchmark_is_priced(few: Catalogs) -> None:
    inquiry = asked(few, CHAT | {"model": "gemma-2-2b", "min_quality_worst": 0.9})
    assert "accepting fp8 without published quality" in {row.change for row in unpublished(inquiry, proven(inquiry))}


def test_sixteen_bit_formats_are_one_class() -> None:
    assert alike_in_quality("bf16") == alike_in_quality("fp16") == SIXTEEN_BIT
    assert alike_in_quality("fp8") == {"fp8"}
