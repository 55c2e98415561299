"""What a quality floor costs that keeps out precisions of which nobody published anything, each re-solved."""

from typing import Any

import pytest
from support.asking import CHAT, few_offers
from support.scenarios import proven

from optimizer.answers.planning.until_it_holds import held_answer
from optimizer.inputs.catalog.quality import SIXTEEN_BIT, alike_in_quality, quality_share, quality_spread
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.requirements.avoided import avoided
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA
from optimizer.plan.explain.comparing import compared
from optimizer.plan.explain.unpublished import savings, unpublished
from optimizer.plan.grounds.warnings import warnings
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.fields import difference_of_cents
from optimizer.plan.verify.verify import verify

UNPUBLISHED = CHAT | {"model": "gemma-3-27b", "min_quality": 0.9, "requests_per_second": 13}


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
    (found,) = compared(bought, held_answer, unpublished(inquiry))
    rows = {row.change: row for row in found}
    assert quality_share(few, "gemma-3-27b", "fp8") is None
    for precision in ("fp8", "int4"):
        accepting = UNPUBLISHED | {"unknown_quality": "accept"}
        lists = {"precisions": [*SIXTEEN_BIT, precision], "kv_precisions": [*SIXTEEN_BIT]}
        alone = proven(asked(few, accepting, **lists))
        (row,) = [row for change, row in rows.items() if change.startswith(f"accepting {precision} without")]
        assert row.monthly_cost_usd == alone.monthly_cost_usd
        assert row.difference_usd == difference_of_cents(alone.monthly_cost_usd, bought.monthly_cost_usd)
    assert "accepting fp8 in the KV cache without published quality" in rows
    cheaper = [row for row in rows.values() if row.difference_usd is not None and row.difference_usd < 0]
    (said,) = savings(list(rows.values()))
    assert said.startswith("accepting unpublished quality (unknown_quality) would save a month: $")
    # those that save alike are told in one breath
    assert said.count("$") == len({row.difference_usd for row in cheaper}) > 0
    assert all(f"${-row.difference_usd:,.2f} with " in said for row in cheaper if row.difference_usd)


@pytest.mark.parametrize("own", [{"min_quality": None}, {"unknown_quality": "accept"}])
def test_nothing_is_priced_where_nothing_is_kept_out(own: dict[str, Any], few: Catalogs) -> None:
    inquiry = asked(few, UNPUBLISHED | own)
    assert list(unpublished(inquiry)) == []


def test_a_precision_that_was_published_is_not_called_unpublished(few: Catalogs) -> None:
    inquiry = asked(few, CHAT | {"min_quality": 0.9})
    priced = {row.change for row in unpublished(inquiry)}
    assert quality_share(few, "llama-3.1-8b", "fp8") is not None
    assert not any(change.startswith("accepting fp8 without published quality") for change in priced)


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
    rows = [row.change for row in unpublished(inquiry)]
    assert any(change.startswith("accepting fp8 without published quality") for change in rows)


def test_models_of_its_size_pass_a_floor_by_name_alone_and_at_their_low_end(few: Catalogs) -> None:
    """Of 18 of them 9 of 10 evaluations keep at least 0.987 in FP8, and 0.851 of any one benchmark."""

    def serves(kv_precision: str = "bf16", **own: Any) -> bool:
        inquiry = asked(few, UNPUBLISHED | own, precisions=["fp8"], kv_precisions=[kv_precision])
        return bool(inquiry.options[0].pools[0].passed.any())

    assert not serves(min_quality=0.9)
    assert serves(min_quality=0.987, unknown_quality="family")
    assert not serves(min_quality=0.988, unknown_quality="family")
    assert serves(min_quality=None, min_quality_worst=0.85, unknown_quality="family")
    assert not serves(min_quality=None, min_quality_worst=0.86, unknown_quality="family")
    # of a KV cache in few bits nobody counted a spread
    assert not serves("fp8", unknown_quality="family")


def test_a_plan_that_counts_models_of_its_size_says_so_and_is_verified(few: Catalogs) -> None:
    scenario = Scenario.model_validate({"name": "floor", "workloads": [UNPUBLISHED | {"unknown_quality": "family"}]})
    bought = proven(Inquiry.of(scenario, few).for_comparison())
    ((precision, kept),) = {(d.precision, d.quality) for d in bought.deployments}
    spread = quality_spread(few, "gemma-3-27b", precision)
    assert spread is not None
    assert kept == spread.low_share
    (said,) = [text for text in warnings(scenario, few, bought, None) if "nobody published" in text]
    assert said == f"chat: nobody published what gemma-3-27b keeps in {precision}; accepted is that {spread.words}"
    assert verify(scenario, few, bought).passed
    strict = Scenario.model_validate({"name": "floor", "workloads": [UNPUBLISHED]})
    assert {check.name for check in verify(strict, few, bought).checks if not check.passed} == {"quality", "figures"}


@pytest.mark.parametrize(("unknown", "serves"), [("avoid", False), ("family", True)])
def test_without_a_floor_few_bits_serve_where_models_of_its_size_speak_for_them(
    unknown: str, serves: bool, few: Catalogs
) -> None:
    workload = UNPUBLISHED | {"min_quality": None, "unknown_quality": unknown}
    inquiry = asked(few, workload, precisions=["int4"], kv_precisions=["bf16"])
    kept = inquiry.keeping_to(avoided(inquiry.scenario))
    assert kept.options[0].pools[0].passed.any() == serves


def test_rows_beside_a_plan_say_what_models_of_its_size_keep(few: Catalogs) -> None:
    inquiry = asked(few, UNPUBLISHED)
    rows = [row.change for row in unpublished(inquiry)]
    assert "accepting fp8 without published quality (models of its size: 0.983 to 1.008)" in rows


def test_sixteen_bit_formats_are_one_class() -> None:
    assert alike_in_quality("bf16") == alike_in_quality("fp16") == SIXTEEN_BIT
    assert alike_in_quality("fp8") == {"fp8"}
