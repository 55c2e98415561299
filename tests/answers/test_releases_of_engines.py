"""A version that names no release is refused with those that are known; a newer one than any is told."""

import pytest

from optimizer.answers.accuracy.predicted import Prediction, Setting
from optimizer.answers.accuracy.prediction import predict_setting
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs


def predicted(catalogs: Catalogs, engine: str, version: str, **more: str) -> Prediction:
    setting = Setting(
        model="llama-3.1-8b", gpu="h100-sxm", tensor_parallel=1, precision="bf16", engine=engine,
        engine_version=version, input_tokens=500, output_tokens=100, load_type="concurrency", load_value=4,
    )  # fmt: skip
    return predict_setting(setting.model_copy(update=more), catalogs)


@pytest.mark.parametrize(("engine", "version"), [("vllm", "banana"), ("vLLM", "latest"), ("sglang", "2019")])
def test_a_version_that_names_no_release_is_refused(catalogs: Catalogs, engine: str, version: str) -> None:
    """It was taken for the newest without a word."""
    with pytest.raises(InputError) as refused:
        predicted(catalogs, engine, version)
    (found,) = refused.value.findings
    assert (found.field, found.problem) == ("--engine-version", f"'{version}' is no release of {engine.lower()}")
    assert catalogs.engines[engine.lower()].newest_version in found.hint
    eras = {"vllm": "0.2, 0.3, 0.6, 0.9 and 0.11", "sglang": "0.4 and 0.5.4"}[engine.lower()]
    assert found.hint.endswith(f"predicted apart begin with {eras}")


def test_it_is_told_with_all_other_unknown_names(catalogs: Catalogs) -> None:
    with pytest.raises(InputError) as refused:
        predicted(catalogs, "vllm", "banana", gpu="h1000")
    assert [each.field for each in refused.value.findings] == ["--engine-version", "--gpu"]


@pytest.mark.parametrize(
    ("engine", "version"),
    [("vllm", ""), ("vllm", "0.33.0"), ("vLLM", "v0.9.2rc1"), ("sglang", "2025")],
)
def test_a_release_a_build_of_one_and_a_year_are_read(catalogs: Catalogs, engine: str, version: str) -> None:
    assert predicted(catalogs, engine, version).note == ""


def test_a_release_newer_than_any_that_is_known_is_predicted_as_the_newest(catalogs: Catalogs) -> None:
    newer, newest = (predicted(catalogs, "vllm", version) for version in ("0.40.1", "0.33.0"))
    assert newer.note == "vllm 0.40.1 is newer than any that is known: predicted as 0.33.0"
    assert newest.note == ""
    assert newer.tpot == newest.tpot


def test_where_all_releases_are_predicted_alike_any_text_will_do(catalogs: Catalogs) -> None:
    small = {"model": "llama-2-7b", "precision": "bf16", "gpu": "a100-80-sxm"}
    assert predicted(catalogs, "tgi", "banana", **small).tpot == predicted(catalogs, "tgi", "", **small).tpot
