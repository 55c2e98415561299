"""Names as publications write them: led back to the catalog where they say which, told where they might be another."""

import pandas as pd
import pytest

from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.measured.batch import predict_batch

ROW: dict[str, object] = {
    **{
        "engine": "vllm",
        "engine_version": "0.11.0",
        "model": "llama-3.1-8b",
        "gpu": "h100-sxm",
        "num_gpus": 1,
        "tp": 1,
    },
    **{"weight_precision": "bf16", "kv_precision": "", "input_tokens": 1024, "output_tokens": 256},
    **{"load_type": "concurrency", "load_value": 16},
}
FIGURES = ("pred_tpot_ms_mean", "pred_ttft_ms_mean", "pred_output_tok_s")


def one(catalogs: Catalogs, **change: object) -> "pd.Series[float]":
    return predict_batch(pd.DataFrame([ROW | change]), catalogs).iloc[0]


def same(catalogs: Catalogs, written: dict[str, object], plain: dict[str, object]) -> str:
    """Both rows are answered alike; what is said of the first."""
    both = predict_batch(pd.DataFrame([ROW | written, ROW | plain]), catalogs)
    found, known = both.iloc[0], both.iloc[1]
    assert (found["pred_status"], known["pred_status"]) == ("ok", "ok"), found["pred_reason"]
    assert [found[name] for name in FIGURES] == [known[name] for name in FIGURES]
    return str(found["pred_reason"])


GPUS = {
    "NVIDIA H100 80GB HBM3": "h100-sxm",
    "H100-SXM5-80GB": "h100-sxm",
    "h100_sxm": "h100-sxm",
    "H100": "h100-sxm",
    "NVIDIA H100 PCIe": "h100-pcie",
    "NVIDIA H100 NVL": "h100-nvl",
    "H100 94GB": "h100-nvl",
    "NVIDIA H200": "h200-sxm",
    "NVIDIA A100-SXM4-80GB": "a100-80-sxm",
    "A100-SXM4-40GB": "a100-40-sxm",
    "NVIDIA A100 80GB PCIe": "a100-80-pcie",
    "NVIDIA GH200 480GB": "gh200-96",
    "B200-SXM-180GB": "b200",
    "AMD Instinct MI300X": "mi300x",
    "AMD Instinct MI355X OAM": "mi355x",
    "NVIDIA L40S": "l40s",
    "NVIDIA A10G": "a10g",
    "NVIDIA GeForce RTX 4090": "rtx4090",
    "NVIDIA RTX A6000": "a6000",
    "NVIDIA RTX 6000 Ada Generation": "rtx6000ada",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "rtxpro6000-se",
    "Gaudi 3": "gaudi3",
}


@pytest.mark.parametrize("name", GPUS)
def test_a_gpu_is_the_one_that_its_name_says(catalogs: Catalogs, name: str) -> None:
    assert f"gpu '{name}' read as {GPUS[name]}" in same(catalogs, {"gpu": name}, {"gpu": GPUS[name]})


@pytest.mark.parametrize(
    "name",
    [
        "H800",
        "MI300A",
        "RTX 4080",
        "A100 64GB",
        "H100 SXM 40GB",
        "RTX 4090 48GB",
        "V100 PCIe 16GB",
        "RTX PRO 6000 Max-Q",
    ],
)
def test_a_card_that_is_none_of_the_catalogs_is_not_taken_for_one(catalogs: Catalogs, name: str) -> None:
    assert f"unknown gpu '{name}'" in str(one(catalogs, gpu=name)["pred_reason"])


def test_of_cards_that_share_a_name_the_others_are_told(catalogs: Catalogs) -> None:
    reason = str(one(catalogs, gpu="A100")["pred_reason"])
    assert "read as a100-80-sxm, which might be a100-80-pcie, a100-40-sxm, a100-40-pcie" in reason


@pytest.mark.parametrize(
    "name", ["8x H100 SXM", "8xh100-sxm", "H100 SXM (8x)", "h100-sxm x8", "H100-SXM (8 GPUs)", "H100 SXM*8"]
)
def test_a_name_may_say_how_many_gpus_there_are(catalogs: Catalogs, name: str) -> None:
    same(catalogs, {"gpu": name, "num_gpus": "", "tp": ""}, {"num_gpus": 8, "tp": ""})


ENGINES = {
    "TRT-LLM": "tensorrt-llm",
    "trtllm": "tensorrt-llm",
    "text-generation-inference": "tgi",
    "llamacpp": "llama.cpp",
    "dynamo-sglang": "sglang",
    "vLLM (ROCm)": "vllm",
}


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_is_known_by_its_other_names(catalogs: Catalogs, name: str) -> None:
    assert f"read as {ENGINES[name]}" in same(
        catalogs, {"engine": name, "engine_version": ""}, {"engine": ENGINES[name], "engine_version": ""}
    )


def test_an_engines_name_may_say_its_version(catalogs: Catalogs) -> None:
    same(catalogs, {"engine": "vLLM v0.6.3", "engine_version": ""}, {"engine_version": "0.6.3"})
    newest = one(catalogs, engine_version="")
    assert newest["pred_tpot_ms_mean"] != one(catalogs, engine="vLLM v0.6.3", engine_version="")["pred_tpot_ms_mean"]


MODELS: dict[str, tuple[str, str]] = {
    "Llama-3.1-8B-Instruct": ("meta-llama/Llama-3.1-8B-Instruct", ""),
    "Llama 3.1 8B": ("llama-3.1-8b", ""),
    "Llama-2-7b-chat": ("meta-llama/Llama-2-7b-chat-hf", ""),
    "meta/llama-3.1-8b-instruct": ("meta-llama/Llama-3.1-8B-Instruct", ""),
    "/models/Llama-3.1-8B-Instruct/": ("meta-llama/Llama-3.1-8B-Instruct", ""),
    "models--meta-llama--Llama-3.1-8B-Instruct": ("meta-llama/Llama-3.1-8B-Instruct", ""),
    "someone/Llama-3.1-8B-Instruct-FP8-dynamic": ("llama-3.1-8b", "fp8"),
    "someone/Qwen3-8B-quantized.w8a8": ("qwen3-8b", "int8"),
    "someone/Qwen3-8B-AWQ-INT4": ("qwen3-8b", "int4"),
    "someone/Qwen2.5-7B-Instruct-GPTQ-Int8": ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8", ""),
    "bartowski/Qwen3-8B-Q4_K_M-GGUF": ("qwen3-8b", "q4_k_m"),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_known_by_the_same_name_elsewhere(catalogs: Catalogs, name: str) -> None:
    known, precision = MODELS[name]
    same(
        catalogs,
        {"model": name, "weight_precision": "", "gpu": "h100-sxm"},
        {"model": known, "weight_precision": precision, "gpu": "h100-sxm"},
    )


@pytest.mark.parametrize(
    "name", ["Qwen25-7B", "Llama-3.1-9B", "Llama-3.1-8B-Instruct-DPO", "Mistral-7B", "DeepSeek R1 70B"]
)
def test_a_near_name_is_never_taken(catalogs: Catalogs, name: str) -> None:
    assert "unknown model" in str(one(catalogs, model=name)["pred_reason"])


def test_a_size_behind_a_name_has_to_be_its_own(catalogs: Catalogs) -> None:
    eight: dict[str, object] = {"gpu": "h200-sxm", "num_gpus": 8, "tp": 8, "weight_precision": "fp8"}
    same(catalogs, eight | {"model": "DeepSeek R1 671B"}, eight | {"model": "deepseek-r1"})


def test_a_file_of_some_precision_needs_to_be_told_which(catalogs: Catalogs) -> None:
    name = "bartowski/Meta-Llama-3.1-8B-Instruct-GGUF"
    assert "weight_precision is missing" in str(one(catalogs, model=name, weight_precision="")["pred_reason"])
    llama: dict[str, object] = {"engine": "llama.cpp", "engine_version": "", "weight_precision": "Q4_K_M"}
    same(catalogs, llama | {"model": name}, llama)


PRECISIONS = {
    **{"bfloat16": "bf16", "float16": "fp16", "FP8_E4M3": "fp8", "fp8-dynamic": "fp8", "W8A8-INT8": "int8"},
    **{"W4A16": "int4", "AWQ": "int4", "gptq-int4": "int4", "w8a16": "int8_w8a16", "W8A8": "int8", "auto": "bf16"},
}


@pytest.mark.parametrize("word", PRECISIONS)
def test_precisions_are_read_in_other_words(catalogs: Catalogs, word: str) -> None:
    reason = same(catalogs, {"weight_precision": word}, {"weight_precision": PRECISIONS[word]})
    assert f"read as {PRECISIONS[word]}" in reason or word == "auto"


def test_a_method_is_what_the_checkpoint_says_of_itself(catalogs: Catalogs) -> None:
    name = "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8"
    same(catalogs, {"model": name, "weight_precision": "w8a8"}, {"weight_precision": "fp8"})


def test_sixteen_bits_of_a_checkpoint_that_has_fewer_are_told(catalogs: Catalogs) -> None:
    name = "hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4"
    reason = same(catalogs, {"model": name, "weight_precision": "fp16"}, {"weight_precision": "fp16"})
    assert "weights in fp16 as stated, although the model's name says int4" in reason


def test_caches_are_read_in_other_words(catalogs: Catalogs) -> None:
    for word in ("fp8_e4m3", "FP8_E5M2"):
        same(catalogs, {"kv_precision": word}, {"kv_precision": "fp8"})
    for word in ("default", "auto", "bfloat16"):
        same(catalogs, {"kv_precision": word}, {"kv_precision": "bf16"})


@pytest.mark.parametrize(
    ("word", "load"), [("QPS", "request_rate"), ("closed-loop", "concurrency"), ("batch size", "static_batch")]
)
def test_loads_are_read_in_other_words(catalogs: Catalogs, word: str, load: str) -> None:
    same(catalogs, {"load_type": word, "load_value": 4}, {"load_type": load, "load_value": 4})


def test_an_infinite_rate_is_all_at_once(catalogs: Catalogs) -> None:
    endless: dict[str, object] = {"load_type": "request_rate", "load_value": "inf", "num_requests": 100}
    reason = same(catalogs, endless, {"load_type": "offline", "load_value": "", "num_requests": 100})
    assert "read as offline" in reason
    assert "not a finite number" in str(one(catalogs, load_value="inf")["pred_reason"])
