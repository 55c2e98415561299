"""Users, tokens a day and batches with a deadline are read into the rate that they mean, and say so."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from optimizer.base.errors import Finding, InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.adapters import adapter_bytes
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.loading import load_scenario
from optimizer.inputs.scenario.not_planned import kind_not_planned
from optimizer.inputs.scenario.restating import worked_on_in
from optimizer.inputs.scenario.scenario import Scenario, Workload

SHAPE = {"input_tokens": 1000, "output_tokens": 250}
BY_DAY = [0.0] * 8 + [1.0, 2.0, 4.0, 4.0, 3.0, 2.0, 2.0, 2.0] + [0.0] * 8
NIGHT = {"requests": 200_000, "start": "22:00", "by": "06:00"}


@pytest.fixture
def workload(tmp_path: Path) -> Any:
    """The one workload of a scenario that asks in these words, as it is loaded."""

    def load(**asked: Any) -> Workload:
        file = tmp_path / "asked.yaml"
        content = {"name": "asked", "workloads": [{"name": "chat", "model": "llama-3.1-8b", **SHAPE, **asked}]}
        file.write_text(yaml.safe_dump(content), encoding="utf-8")
        return load_scenario(file).workloads[0]

    return load


def test_users_are_requests_of_every_hour(workload: Any) -> None:
    found = workload(users=2000, requests_per_user_hour=6)
    assert found.requests_per_second == pytest.approx(2000 * 6 / 3600)
    assert found.stated_as == ("2,000 users at 6 requests an hour = 3.33 requests/s in every hour",)
    assert found.users is None
    assert found.requests_per_user_hour is None


def test_users_give_a_profile_its_height(workload: Any) -> None:
    found = workload(users=3600, requests_per_user_hour=1, demand={"hourly": BY_DAY})
    assert found.demand.weekly_peak() == pytest.approx(1.0)
    assert found.stated_as == ("3,600 users at 1 request an hour = 1 request/s in the busiest hour",)


@pytest.mark.parametrize(("kind", "of_each"), [("input", 1000), ("output", 250), ("total", 1250)])
def test_tokens_of_a_day_are_those_of_its_requests(workload: Any, kind: str, of_each: int) -> None:
    steady = workload(tokens_per_day={kind: 5e6})
    assert steady.requests_per_second * 86_400 * of_each == pytest.approx(5e6)
    profile = workload(tokens_per_day={kind: 5e6}, demand={"hourly": BY_DAY, "weekend_factor": 3})
    weekly = profile.demand.weekly()
    assert sum(weekly[:24]) * 3600 * of_each == pytest.approx(5e6)
    assert sum(weekly[-24:]) * 3600 * of_each == pytest.approx(15e6)


def test_tokens_of_several_classes_are_counted_at_their_mean(workload: Any) -> None:
    classes = [
        {"share": 0.75, "input_tokens": 100, "output_tokens": 10},
        {"share": 0.25, "input_tokens": 500, "output_tokens": 50},
    ]
    found = workload(
        tokens_per_day={"output": 86_400 * 20}, request_classes=classes, input_tokens=None, output_tokens=None
    )
    assert found.requests_per_second == pytest.approx(1.0)


@pytest.mark.parametrize("days", ["every_day", "weekdays"])
def test_a_batch_is_done_between_its_hours(workload: Any, days: str) -> None:
    found = workload(deadline=NIGHT | {"days": days})
    weekly = found.demand.weekly()
    batches = 7 if days == "every_day" else 5
    assert sum(weekly) * 3600 == pytest.approx(200_000 * batches)
    assert [hour for hour in range(24) if weekly[24 + hour]] == [*range(6), 22, 23]
    assert bool(weekly[0]) == (days == "every_day"), "the night from Sunday to Monday"
    assert weekly[5 * 24 + 5], "the batch of Friday runs into Saturday"
    assert "= 6.94 requests/s for 8 hours" in found.stated_as[0]
    for hours, words in ((1, "= 55.6 requests/s for the first of 8 hours"), (2, "for the first 2 of 8 hours")):
        assert worked_on_in(found, hours).stated_as[-1].endswith(words)


def test_a_batch_of_tokens_around_the_clock_is_a_steady_rate(workload: Any) -> None:
    found = workload(deadline={"tokens": {"output": 86_400 * 250}, "start": 6, "by": 6})
    assert found.demand is None
    assert found.requests_per_second == pytest.approx(1.0)


WRONG = {
    "two rates": ({"users": 5, "requests_per_user_hour": 1, "requests_per_second": 2}, "users", "keep one"),
    "users alone": ({"users": 5}, "users", "give both"),
    "their requests alone": ({"requests_per_user_hour": 5}, "requests_per_user_hour", "give both"),
    "a profile with a height": (
        {"users": 5, "requests_per_user_hour": 1, "demand": {"hourly": BY_DAY, "peak_requests_per_second": 2}},
        "users",
        "keep one",
    ),
    "a shape alone": ({"demand": {"hourly": BY_DAY}}, "demand", "users or tokens_per_day"),
    "a shape with a rate": ({"requests_per_second": 2, "demand": {"hourly": BY_DAY}}, "demand", "remove demand"),
    "which tokens": ({"tokens_per_day": 5_000_000}, "tokens_per_day", "which tokens"),
    "two kinds of tokens": ({"tokens_per_day": {"input": 5, "output": 5}}, "tokens_per_day", "exactly one"),
    "a batch that somebody waits for": ({"deadline": NIGHT, "slo": {"ttft_ms": 500}}, "slo", "latency limits"),
    "half past six": ({"deadline": NIGHT | {"by": "06:30"}}, "deadline.by", "a full hour"),
    "a batch of nothing": ({"deadline": {"start": 1, "by": 2}}, "deadline", "exactly one of requests, tokens"),
    "too many": ({"users": 10_000_000_000, "requests_per_user_hour": 3600}, "", "0.000000001 to 1,000,000 requests/s"),
    "too few": ({"users": 1, "requests_per_user_hour": 1e-300}, "", "asks 2.77778e-304 requests/s"),
    "an hour of nearly nothing": (
        {"demand": {"hourly": [1e-300] + [1.0] * 23, "peak_requests_per_second": 3}},
        "",
        "asks 3e-300 requests/s in its quietest hour",
    ),
    "nothing": ({}, "", "exactly one of requests_per_second, demand, users, tokens_per_day, deadline"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_go_together_is_one_message_with_line_and_field(workload: Any, case: str) -> None:
    asked, field, words = WRONG[case]
    with pytest.raises(InputError) as refused:
        workload(**asked)
    (finding,) = refused.value.findings
    assert finding.line > 1
    assert finding.field == f"workloads[chat].{field}".rstrip(".")
    assert words in str(finding)


def test_a_loaded_scenario_can_be_written_and_read_again(workload: Any) -> None:
    found = workload(deadline=NIGHT)
    assert Workload.model_validate(found.model_dump(exclude_defaults=True)) == found


def test_thinking_makes_answers_longer_by_the_factor_that_was_said(workload: Any) -> None:
    found = workload(requests_per_second=1, reasoning=4.5)
    assert (found.output_tokens, found.reasoning) == (1125, None)
    assert "4.5 times their tokens with thinking (as the scenario says)" in found.stated_as[0]
    assert found.stated_as[1:] == ("1 request/s",), "a rate is restated beside what is said of answers"
    with_users = workload(users=360, requests_per_user_hour=10, reasoning=2)
    assert (with_users.output_tokens, with_users.requests_per_second) == (500, 1.0)
    assert len(with_users.stated_as) == 2


def test_published_thinking_is_looked_up_and_never_guessed(tmp_path: Path, catalogs: Catalogs) -> None:
    def load(model: str) -> Scenario:
        file = tmp_path / "thinking.yaml"
        own = {"name": "chat", "model": model, "requests_per_second": 1, "reasoning": "published", **SHAPE}
        file.write_text(yaml.safe_dump({"name": "thinking", "workloads": [own]}), encoding="utf-8")
        return load_scenario(file, catalogs)

    known = catalogs.thinking["gemma-4-26b-a4b"]
    assert known.factor == pytest.approx(1501 / 310)
    found = load("google/gemma-4-26B-A4B-it").workloads[0]
    assert found.output_tokens == 1211
    assert "ShareGPT" in found.stated_as[0]
    assert found.stated_as[1:] == ("1 request/s",)
    with pytest.raises(InputError) as refused:
        load("llama-3.1-8b")
    (finding,) = refused.value.findings
    assert (finding.line, finding.field) == (7, "workloads[chat].reasoning")
    assert "nobody published" in finding.problem
    assert "reasoning: 4" in finding.hint


def test_a_scenario_whose_thinking_nobody_looked_up_is_refused(workload: Any, catalogs: Catalogs) -> None:
    unasked = workload(requests_per_second=1, reasoning="published")
    (finding,) = check_scenario(Scenario(name="asked", workloads=(unasked,)), catalogs)
    assert finding.hint == "load_scenario(source, catalogs) asks them"


@pytest.mark.parametrize(
    "asked",
    [
        {"tokens_per_day": {"output": 5e6}, "reasoning": 4},
        {"deadline": {"tokens": {"total": 5e6}, "start": 1, "by": 2}, "reasoning": 4},
        {
            "requests_per_second": 1,
            "reasoning": "published",
            "alternatives": [{"model": "llama-3-8b", "quality": 0.9}],
        },
        {"requests_per_second": 1, "reasoning": 0.5},
    ],
)
def test_thinking_is_counted_once_and_makes_nothing_shorter(workload: Any, asked: Any) -> None:
    with pytest.raises(InputError) as refused:
        workload(**asked)
    assert {finding.field for finding in refused.value.findings} == {"workloads[chat].reasoning"}


def test_one_adapter_is_the_model_and_several_are_refused_with_what_they_take(
    workload: Any, catalogs: Catalogs
) -> None:
    def findings(count: int) -> tuple[Finding, ...]:
        own = workload(requests_per_second=1, lora_adapters={"count": count, "rank": 16})
        return check_scenario(Scenario(name="asked", workloads=(own,)), catalogs)

    assert findings(1) == ()
    (finding,) = findings(40)
    assert finding.field == "workloads[chat].lora_adapters"
    assert "40 adapters of rank 16 take 3.12 GiB of every replica of llama-3.1-8b" in finding.problem
    assert "nobody published" in finding.problem


def test_an_adapter_has_the_weights_that_are_published_of_it(catalogs: Catalogs) -> None:
    """41,943,040 weights at rank 16 on every matrix of Llama 3.1 8B, as PEFT counts them, in 16 bit."""
    assert adapter_bytes(catalogs.model("llama-3.1-8b"), 16) == 2 * 41_943_040


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("BAAI/bge-m3", "embedding models"),
        ("openai/whisper-large-v3", "speech models"),
        ("black-forest-labs/FLUX.1-dev", "image and video models"),
    ],
)
def test_a_model_that_writes_no_text_is_refused_by_what_it_is(
    model: str, kind: str, workload: Any, catalogs: Catalogs
) -> None:
    own = workload(requests_per_second=1, model=model)
    (finding,) = check_scenario(Scenario(name="asked", workloads=(own,)), catalogs)
    assert finding.field == "workloads[chat].model"
    assert f"{kind} are not planned" in finding.hint


def test_an_unknown_model_that_reads_images_is_planned_by_its_text_part(workload: Any, catalogs: Catalogs) -> None:
    own = workload(requests_per_second=1, model="Qwen/Qwen2.5-VL-7B-Instruct")
    (finding,) = check_scenario(Scenario(name="asked", workloads=(own,)), catalogs)
    assert "planned by its text part: `optimizer catalog add-model`" in finding.hint


def test_no_known_model_is_taken_for_another_kind(catalogs: Catalogs) -> None:
    """Models that read images, too, are known for the text that they write."""
    kinds = {kind_not_planned(name) for name in (*catalogs.models, *catalogs.aliases)}
    assert kinds <= {"", "vision-language models"}
