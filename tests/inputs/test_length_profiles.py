"""Profiles of lengths: published means and percentiles become one class of requests, named and refused by name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from optimizer.base.errors import InputError
from optimizer.inputs.catalog.entries.lengths import CUTS, LengthProfile
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.loading import load_scenario
from optimizer.inputs.scenario.profile_lengths import class_of_profile
from optimizer.inputs.scenario.scenario import Scenario

PROFILE = "azure-code-2023"


@pytest.fixture
def load(tmp_path: Path) -> Any:
    """A scenario of one workload that names a profile, and says this besides."""

    def loaded(catalogs: Catalogs | None, **asked: Any) -> Scenario:
        file = tmp_path / "asked.yaml"
        own = {"name": "code", "model": "llama-3.1-8b", "lengths": PROFILE, **asked}
        file.write_text(yaml.safe_dump({"name": "asked", "workloads": [own]}), encoding="utf-8")
        return load_scenario(file, catalogs)

    return loaded


def test_every_profile_keeps_the_published_means_and_percentiles_of_prompts(catalogs: Catalogs) -> None:
    for profile in catalogs.length_profiles.values():
        found = class_of_profile(profile, "facts")
        assert found.lengths is not None
        prompts = np.array([each.input_tokens for each in found.lengths], dtype=float)
        answers = np.array([each.output_tokens for each in found.lengths], dtype=float)
        share = np.array([each.share for each in found.lengths])
        assert share @ prompts == pytest.approx(profile.input_tokens_mean, rel=0.01, abs=0.5)
        assert share @ answers == pytest.approx(profile.output_tokens_mean, rel=0.01, abs=0.5)
        for cut, length in zip(CUTS[1:-1], profile.points("input_tokens"), strict=False):
            below, within = share[prompts < np.floor(length)].sum(), share[prompts <= np.ceil(length)].sum()
            assert below - 1e-6 <= cut <= within + 1e-6


def test_long_prompts_have_the_answers_that_the_published_correlation_gives_them(catalogs: Catalogs) -> None:
    """Mooncake's synthetic mix: −0.52 between ranks, so that long prompts are answered shortly."""
    for name, published in (("mooncake-synthetic", -0.5166), ("servegen-m-large", 0.0)):
        lengths = class_of_profile(catalogs.length_profiles[name], "facts").lengths or ()
        rng = np.random.default_rng(0)
        drawn = rng.choice(len(lengths), 20_000, p=np.array([each.share for each in lengths]))
        both = np.array([[each.input_tokens, each.output_tokens] for each in lengths], dtype=float)[drawn]
        # ranks with ties broken by luck, as lengths within a part of the requests would break them
        ranks = np.argsort(np.argsort(both + rng.random(both.shape), axis=0), axis=0)
        assert np.corrcoef(ranks.T)[0, 1] == pytest.approx(published, abs=0.08)


def test_a_workload_that_names_a_profile_has_its_lengths_and_says_whose_they_are(load: Any, catalogs: Catalogs) -> None:
    workload = load(catalogs, requests_per_second=2).workloads[0]
    (found,) = workload.classes()
    assert workload.lengths is None
    assert (found.input_tokens, found.output_tokens) == (2048, 28)
    assert "azure-code-2023, azure-llm-traces-2023, CC-BY-4.0" in (found.read_from or "")
    assert not check_scenario(load(catalogs, requests_per_second=2), catalogs)


def test_rates_that_follow_from_lengths_wait_for_the_catalogs(load: Any, catalogs: Catalogs) -> None:
    asked = {"tokens_per_day": {"input": 86_400 * 2048}, "reasoning": 2}
    with pytest.raises(InputError):
        load(catalogs, **asked)
    found = load(catalogs, tokens_per_day={"input": 86_400 * 2048}).workloads[0]
    assert found.requests_per_second == pytest.approx(1.0)
    thinking = load(catalogs, requests_per_second=1, reasoning=2).workloads[0]
    assert thinking.classes()[0].output_tokens == 56
    (finding,) = check_scenario(load(None, requests_per_second=1), catalogs)
    assert (finding.field, finding.hint) == ("workloads[code].lengths", "load_scenario(source, catalogs) asks them")


def test_an_unknown_profile_is_refused_with_the_nearest(load: Any, catalogs: Catalogs) -> None:
    (finding,) = check_scenario(load(catalogs, requests_per_second=1, lengths="azure_code_2023"), catalogs)
    assert finding.problem == "unknown profile of lengths 'azure_code_2023'"
    assert PROFILE in finding.hint


@pytest.mark.parametrize(
    "beside",
    [
        {"input_tokens": 9, "output_tokens": 9},
        {"request_classes": [{"share": 1, "input_tokens": 9, "output_tokens": 9}]},
    ],
)
def test_lengths_are_said_once(load: Any, catalogs: Catalogs, beside: Any) -> None:
    with pytest.raises(InputError, match="the profile already gives the lengths"):
        load(catalogs, requests_per_second=1, **beside)


def test_a_mean_that_cannot_lie_beside_its_percentiles_is_refused(catalogs: Catalogs) -> None:
    row = catalogs.length_profiles[PROFILE].model_dump()
    with pytest.raises(ValueError, match="cannot lie beside"):
        LengthProfile.model_validate(row | {"output_tokens_mean": 2000})
    with pytest.raises(ValueError, match="must rise"):
        LengthProfile.model_validate(row | {"input_tokens_p50": 1})
