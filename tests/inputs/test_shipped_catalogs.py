"""The shipped catalogs hold what they promise: dense peaks, usable memory, exact shapes, sourced and dated rows."""

from functools import cache

import pytest

from optimizer.base.units import BYTES_PER_GB, BYTES_PER_MIB, PARAMS_PER_BILLION
from optimizer.inputs.catalog.checks import check_rows
from optimizer.inputs.catalog.entries.models import Model
from optimizer.inputs.catalog.loading import FIGURE_UNITS, load_catalogs
from optimizer.inputs.catalog.quality import quality_share, quality_spread
from optimizer.inputs.catalog.records import Catalogs

KV_DIFFERS_BY_LAYER = {
    "decilm-7b",
    "deepseek-v4-flash",
    "deepseek-v4-flash-0731",
    "deepseek-v4-pro",
    "deepseek-v4-pro-0813",
} | {"mimo-v2-flash"}
"""Their notes say so: KV heads, or K and V themselves, differ by layer."""

SHAPE_DIFFERS_BY_LAYER = {"decilm-7b", "gemma-4-31b", "nemotron-super-49b"}
"""Their notes say so: attention or MLP differs by layer, so one shape doesn't give the parameters."""

FP4_MORE_THAN_DOUBLES = {"b300", "gb300", "rtx5090"}
"""Blackwell Ultra triples FP4 by design; the RTX 5090's FP8 rate is the one with FP32 accumulation."""


@cache
def shipped() -> Catalogs:
    return load_catalogs()


def is_plain_dense(model: Model) -> bool:
    return model.moe_experts is None and model.kv_lora_rank is None and not model.linear_state_bytes_per_sequence


def test_every_known_place_sells_something_and_everything_is_sold_at_a_known_place() -> None:
    catalogs = shipped()
    assert {(offer.provider, offer.region) for offer in catalogs.offers} == set(catalogs.terms.regions)


@pytest.mark.parametrize(
    ("gpu", "figure", "dense"),
    [
        ("h100-sxm", "bf16_tflops", 989),
        ("h100-sxm", "fp8_tflops", 1979),
        ("h100-pcie", "bf16_tflops", 756),
        ("h100-pcie", "memory_bandwidth_gb_per_s", 2000),
        ("a100-80-sxm", "bf16_tflops", 312),
        ("a100-40-sxm", "bf16_tflops", 312),
        ("a100-40-sxm", "memory_bandwidth_gb_per_s", 1555),
        ("a100-80-sxm", "memory_bandwidth_gb_per_s", 2039),
        ("a100-80-pcie", "memory_bandwidth_gb_per_s", 1935),
        ("a10g", "bf16_tflops", 70),
        ("a10", "bf16_tflops", 125),
        ("rtx4090", "bf16_tflops", 165.2),
        ("l4", "fp8_tflops", 242),
        ("gaudi3", "bf16_tflops", 1677),
        ("b300", "int8_tops", 153.5),
        ("b300", "fp4_tflops", 13500),
        ("mi325x", "memory_gb", 256),
        ("mi250x", "memory_gb", 64),
        ("mi250x", "bf16_tflops", 191.5),
        ("mi300x", "link_pair_gb_per_s", 64),
        ("h100-sxm", "link_gb_per_s", 450),
        ("rtxpro6000-se", "memory_bandwidth_gb_per_s", 1597),
        ("l40s", "usable_memory_mib", 46068),
    ],
)
def test_gpu_figures_are_the_dense_one_directional_usable_ones(gpu: str, figure: str, dense: float) -> None:
    assert getattr(shipped().gpus[gpu], figure) == dense


def test_no_peak_is_a_sparse_one_among_dense_ones() -> None:
    """Each halving of the width doubles a dense peak at most; a sparse figure would stand out as a factor of four."""
    for gpu in shipped().gpus.values():
        plain = gpu.bf16_tflops or gpu.fp16_tflops
        assert plain is not None
        assert (gpu.fp8_tflops or 0) <= 2.1 * plain, gpu.id
        if gpu.id not in FP4_MORE_THAN_DOUBLES:
            assert (gpu.fp4_tflops or 0) <= 2.1 * (gpu.fp8_tflops or 0), gpu.id


def test_every_figure_has_a_known_source_a_date_and_its_unit() -> None:
    catalogs = shipped()
    for figure in catalogs.gpu_figures:
        assert figure.source in catalogs.sources
        assert figure.as_of <= catalogs.as_of
        assert figure.unit == FIGURE_UNITS[figure.figure]


def test_recalled_and_derived_figures_say_so() -> None:
    for figure in shipped().gpu_figures:
        assert (figure.source == "recalled-datasheets") <= (figure.status != "read"), figure
        assert figure.note or figure.status != "derived", figure


def test_decimal_gigabytes_never_exceed_what_a_driver_reports() -> None:
    """Which makes them a safe stand-in where nobody published a driver's listing."""
    listed = {figure.gpu for figure in shipped().gpu_figures if figure.status == "read" and figure.unit == "MiB"}
    assert listed
    for gpu in (shipped().gpus[name] for name in sorted(listed)):
        assert gpu.memory_gb * BYTES_PER_GB / BYTES_PER_MIB <= gpu.usable_memory_mib, gpu.id


def test_links_have_a_bandwidth_and_a_domain_that_fit_their_kind() -> None:
    for gpu in shipped().gpus.values():
        if gpu.link == "pcie":
            assert gpu.link_domain_gpus == 1, gpu.id
            assert gpu.link_gb_per_s == gpu.pcie_gb_per_s, gpu.id
        elif gpu.architecture != "neuroncore-v2":
            assert gpu.link_gb_per_s is not None, gpu.id


def test_kv_bytes_follow_from_the_shape() -> None:
    """Two values (K and V) of two bytes per KV layer, head and dimension; the latent of MLA is cached once."""
    for model in shipped().models.values():
        layers, whole = model.kv_cache_layers, model.global_attention_layers
        entry: float = 2 * 2 * model.kv_heads * model.head_dim
        if model.kv_lora_rank is not None:
            entry = 2 * (model.kv_lora_rank + (model.qk_rope_head_dim or 0))
        far = 2 * 2 * (model.global_kv_heads or model.kv_heads) * (model.global_head_dim or model.head_dim)
        expected = layers * entry
        if model.window_kv_bytes_per_token_bf16 is not None:
            expected = (layers - whole) * entry + whole * far
        assert (model.kv_bytes_per_token_bf16 == expected) != (model.id in KV_DIFFERS_BY_LAYER), model.id


def test_compressed_keys_stand_beside_those_of_the_window() -> None:
    for model in (model for model in shipped().models.values() if model.attention == "mqa-compressed"):
        window, sparse = model.window_kv_bytes_per_token_bf16, model.sparse_kv_bytes_per_token_bf16
        assert window == 2 * model.head_dim * model.layers, model.id
        assert sparse is not None
        assert window + sparse < model.kv_bytes_per_token_bf16, model.id


def test_parameters_of_plain_dense_models_follow_from_the_shape() -> None:
    for model in filter(is_plain_dense, shipped().models.values()):
        if model.id in SHAPE_DIFFERS_BY_LAYER:
            assert model.note, model.id
            continue
        attention = 2 * model.hidden_size * model.head_dim * (model.attention_heads + model.kv_heads)
        mlp = (3 if model.mlp_gated else 2) * model.hidden_size * model.intermediate_size
        embeddings = model.vocab_size * model.hidden_size * (1 if model.tied_embeddings else 2)
        counted = model.layers * (attention + mlp) + embeddings
        assert counted == pytest.approx(model.total_params_b * PARAMS_PER_BILLION, rel=0.005), model.id


def test_models_are_consistent_in_themselves() -> None:
    for model in shipped().models.values():
        assert model.active_params_excl_input_embedding_b <= model.active_params_b <= model.total_params_b, model.id
        assert model.global_attention_layers <= model.kv_cache_layers <= model.layers, model.id
        windowed = model.global_attention_layers < model.kv_cache_layers
        assert windowed == (model.sliding_window_tokens is not None), model.id
        assert (model.sparse_attention_tokens is not None) == (model.indexer_bytes_per_token > 0), model.id
        assert (model.indexer_bytes_per_token > 0) == (model.indexer_flops_per_token_pair > 0), model.id
        assert (model.moe_experts is None) == (model.moe_active_experts is None), model.id


def test_every_published_name_leads_to_its_model() -> None:
    catalogs = shipped()
    for alias in catalogs.aliases.values():
        assert catalogs.model(alias.hf_id.upper()).id == alias.model
    for model in catalogs.models.values():
        assert catalogs.aliases[model.hf_id.casefold()].model == model.id


def test_variants_keep_their_own_context_vocabulary_and_window() -> None:
    catalogs = shipped()
    assert catalogs.model("microsoft/Phi-3-mini-4k-instruct").sliding_window_tokens == 2047
    assert catalogs.model("microsoft/Phi-3-mini-128k-instruct").sliding_window_tokens is None
    assert catalogs.model("microsoft/Phi-3-mini-128k-instruct").max_context_tokens == 131072
    assert catalogs.model("codellama/CodeLlama-7b-Python-hf").vocab_size == 32000


def test_every_scheme_is_judged_on_every_architecture() -> None:
    catalogs = shipped()
    architectures = {gpu.architecture for gpu in catalogs.gpus.values()}
    assert set(catalogs.kernel_support) == {(scheme, arch) for scheme in catalogs.schemes for arch in architectures}


@pytest.mark.parametrize(
    ("scheme", "architecture", "support"),
    [
        ("fp8", "ampere", "weight_only"),
        ("fp8", "hopper", "native"),
        ("fp4", "hopper", "weight_only"),
        ("fp4", "blackwell", "native"),
        ("int8", "blackwell-ultra", "none"),
        ("mxfp4", "cdna3", "weight_only"),
        ("bf16", "turing", "none"),
        ("fp16", "turing", "native"),
        ("int4", "hopper", "weight_only"),
    ],
)
def test_kernel_support_tells_native_from_unpacked(scheme: str, architecture: str, support: str) -> None:
    assert shipped().kernel_support[scheme, architecture].support == support


def test_scales_are_counted_in_weight_bits() -> None:
    bits = {scheme.id: scheme.weight_bits for scheme in shipped().schemes.values()}
    assert bits["int4"] == pytest.approx(4 + (16 + 4) / 128, abs=1e-3)
    assert bits["fp4"] == 4 + 8 / 16
    assert bits["mxfp4"] == 4 + 8 / 32
    assert bits["fp8"] == pytest.approx(8 + 32 / 128**2, abs=1e-3)


def test_articles_prices_stay_apart_from_listed_ones() -> None:
    newest = "aws/us-east-1/p5.48xlarge/8xh100-sxm/on_demand"
    assert [str(offer.price_usd_per_hour) for offer in shipped().offers if offer.id == newest] == ["55.04"]
    assert all(offer.confidence == "seed" for offer in shipped().offers if offer.provider == "io.net")


def test_single_gpu_offers_have_no_link_and_only_recalled_prices_leave_it_unknown() -> None:
    for offer in shipped().offers:
        assert (offer.gpu_count == 1) == (offer.link == "none"), offer.id
        assert offer.link is not None or offer.confidence == "seed", offer.id


def test_terms_and_commitments_agree() -> None:
    months = {"reserved_1y": 12, "reserved_3y": 36}
    for offer in shipped().offers:
        if offer.pricing_term in months:
            assert offer.commitment_months == months[offer.pricing_term], offer.id
        elif offer.pricing_term in ("on_demand", "spot"):
            assert offer.commitment_months == 0, offer.id


def test_quality_is_one_by_definition_a_capped_median_or_unknown() -> None:
    catalogs = shipped()
    shares = {
        (model, scheme): estimate.share
        for model in catalogs.models
        for scheme in catalogs.schemes
        if (estimate := quality_share(catalogs, model, scheme)) is not None
    }
    assert all(0 < share <= 1 for share in shares.values())
    assert shares["deepseek-v3", "fp8"] == shares["deepseek-v3", "bf16"] == shares["gpt-oss-20b", "mxfp4"] == 1
    assert shares["llama-3.1-8b", "fp8"] == pytest.approx(0.9985)
    assert shares["qwen3.6-27b", "fp4"] == pytest.approx(0.9949)
    assert ("mixtral-8x7b", "fp8") not in shares


def test_quality_names_what_it_rests_on() -> None:
    estimate = quality_share(shipped(), "meta-llama/Llama-3.1-8B-Instruct", "int4")
    assert estimate is not None
    assert "OpenLLM v1 avg" in estimate.basis
    assert "Arena" not in estimate.basis
    assert estimate.sources == ("auto-round-b9f3d007", "hf-card-meta-llama-3.1-8b-instruct-quantized.w4a16")


def test_a_loss_that_a_mean_hides_is_named_and_noise_is_not() -> None:
    lost = quality_share(shipped(), "qwen3-8b", "fp4")
    assert lost is not None
    assert lost.basis.endswith("; MMLU-Pro alone keeps 0.794")
    within_noise = quality_share(shipped(), "llama-3.1-8b", "fp8")
    assert within_noise is not None
    assert "alone" not in within_noise.basis


def test_the_worst_benchmark_is_the_least_of_several_that_were_published_one_by_one() -> None:
    catalogs = shipped()
    kept = {
        (model, scheme): estimate
        for model in catalogs.models
        for scheme in catalogs.schemes
        if (estimate := quality_share(catalogs, model, scheme)) is not None
    }
    assert kept["qwen3-8b", "int4"].share == pytest.approx(0.983, abs=0.001)
    assert kept["qwen3-8b", "int4"].worst_share == pytest.approx(0.7437)
    assert kept["llama-3.1-8b", "fp8"].worst_share == pytest.approx(0.9807)
    assert kept["qwen3-8b", "bf16"].worst_share == kept["deepseek-v3", "fp8"].worst_share == 1
    # a suite's mean alone, or one benchmark alone, says nothing of the worst
    assert kept["gemma-2-2b", "fp8"].worst_share is None
    assert kept["falcon-180b", "fp8"].worst_share is None
    assert all(each.worst_share is None or each.worst_share <= each.share for each in kept.values())


def test_models_of_its_size_stand_in_for_a_model_that_nobody_evaluated_only_where_that_is_asked() -> None:
    catalogs = shipped()
    assert quality_share(catalogs, "gemma-3-27b", "fp8") is None
    assumed = quality_share(catalogs, "gemma-3-27b", "fp8", by_family=True)
    assert assumed is not None
    # 33 evaluations of 18 models of 15 to 80 billion parameters
    assert (assumed.share, assumed.worst_share, assumed.sources) == (0.987, 0.851, ("quality-spread-2026-11",))
    assert assumed.basis == (
        "assumed, nobody published it: 18 models of its size keep 0.983 to 1.008 of the 16-bit score, "
        "9 of 10 evaluations at least 0.987"
    )
    published = quality_share(catalogs, "llama-3.1-8b", "fp8", by_family=True)
    assert published == quality_share(catalogs, "llama-3.1-8b", "fp8")


def test_a_spread_counts_at_its_low_end_by_the_recipe_that_keeps_least() -> None:
    catalogs = shipped()
    four_bits = quality_spread(catalogs, "gemma-4-31b", "mxfp4")
    assert four_bits is not None
    assert (four_bits.recipe, four_bits.low_share) == ("plain rounding", 0.943)
    # of fewer than ten evaluations a tenth is none: the least counts
    few = quality_spread(catalogs, "qwen3-0.6b", "int8")
    assert few is not None
    assert few.evaluations == 8
    assert few.low_share == few.least_share < few.tenth_percentile_share
    # nobody evaluated small models in NVFP4, and one model says nothing of another
    assert quality_spread(catalogs, "gemma-3-4b", "fp4") is None
    assert quality_spread(catalogs, "gemma-3-27b", "w4a8_fp8") is None


def test_catalog_check_finds_no_error_in_what_is_shipped() -> None:
    findings = check_rows(shipped())
    assert [finding for finding in findings if finding.severity == "error"] == []
    assert findings == tuple(sorted(findings, key=lambda finding: finding.rank))
    assert {finding.check for finding in findings} >= {"age", "links", "price range", "recalled figures"}
