"""The form and the text are one question: what is read from the text is written back, and nothing else changes."""

import pytest

from optimizer.answers.planning.frontier import sweep_of
from optimizer.base.errors import InputError
from optimizer.inputs.scenario.fields import FieldError
from optimizer.inputs.scenario.loading import scenario_in
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.inputs.scenario.yaml_lines import parse
from optimizer.serve.jobs.scenario_text import shipped_scenarios
from optimizer.serve.page.form import applied, form_values, length_profiles
from optimizer.serve.page.scenario_text import content_of, value_at, with_values, with_workload, without_workload
from optimizer.serve.page.sliders import sliders_of, sweep_text

SHIPPED = shipped_scenarios()


def posted(text: str) -> dict[str, str]:
    """What a browser sends of the form that shows a text."""
    values = form_values(text)
    hours = {f"hour_{hour}": str(rate) for hour, rate in enumerate(values.hours)}
    return {**values.inputs, **hours, "demand": values.kind, "lengths": ""}


def loaded(text: str) -> Scenario:
    return scenario_in(parse(text, "scenario"), None).scenario


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_an_untouched_form_leaves_the_text(name: str) -> None:
    text = SHIPPED[name]
    assert applied(text, posted(text), form_values(text).terms) == text


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_one_field_changed_is_the_only_one(name: str) -> None:
    text = SHIPPED[name]
    changed = applied(text, {**posted(text), "max_gpus": "63"}, form_values(text).terms)
    before, after = loaded(text), loaded(changed)
    assert after.policy.max_gpus == 63
    assert after.workloads == before.workloads
    assert after.policy == before.policy.model_copy(update={"max_gpus": 63})
    back = applied(changed, {**posted(changed), "max_gpus": posted(text)["max_gpus"]}, form_values(text).terms)
    assert loaded(back) == before


@pytest.mark.parametrize(
    ("kind", "typed", "rate"),
    [
        ("rate", {"requests_per_second": "9"}, 9.0),
        ("users", {"users": "3600", "requests_per_user_hour": "4"}, 4.0),
        ("day", {"peak": "11", **{f"hour_{hour}": str(hour) for hour in range(24)}}, 11.0),
    ],
)
@pytest.mark.parametrize("name", ["chat-8b", "office-hours", "night-batch"])
def test_demand_is_said_in_one_way_at_a_time(name: str, kind: str, typed: dict[str, str], rate: float) -> None:
    text = SHIPPED[name]
    changed = applied(text, {**posted(text), "demand": kind, **typed}, form_values(text).terms)
    assert form_values(changed).kind == kind
    assert loaded(changed).workloads[0].peak_requests_per_second() == pytest.approx(rate)


def test_each_workload_is_written_where_it_stands() -> None:
    text = SHIPPED["two-models"]
    first, second = loaded(text).workloads
    values = form_values(text, 1)
    assert values.workloads == (first.name, second.name)
    assert values.inputs["model"] == second.model
    assert form_values(text, 9).at == 1
    inputs = {**posted(text), **values.inputs, "demand": values.kind, "workload": "renamed", "output_tokens": "77"}
    changed = loaded(applied(text, inputs, values.terms, values)).workloads
    assert changed[0] == first
    assert changed[1] == second.model_copy(update={"name": "renamed", "output_tokens": 77})


def test_a_workload_is_added_like_another_and_taken_away() -> None:
    text = SHIPPED["chat-8b"]
    more = with_workload(with_workload(text, 0), 0)
    assert [each.name for each in loaded(more).workloads] == ["chat", "chat-3", "chat-2"]
    less = without_workload(without_workload(more, 2), 0)
    assert [each.model_dump(exclude={"name"}) for each in loaded(less).workloads] == [
        each.model_dump(exclude={"name"}) for each in loaded(text).workloads
    ]
    assert loaded(without_workload(less, 0)) == loaded(less)
    for change in (with_workload, without_workload):
        with pytest.raises(InputError, match="none at position 5"):
            change(text, 5)


def test_lengths_and_lists_are_taken_as_typed() -> None:
    text = SHIPPED["chat-8b"]
    form = {**posted(text), "lengths": "4000x500", "regions": "eu-*, us-east-1", "ttft_p95": ""}
    scenario = loaded(applied(text, form, ["on_demand", "spot"]))
    assert (scenario.workloads[0].input_tokens, scenario.workloads[0].output_tokens) == (4000, 500)
    assert scenario.policy.regions.allow == ("eu-*", "us-east-1")
    assert scenario.policy.pricing_terms == ("on_demand", "spot")
    assert scenario.workloads[0].slo.ttft_ms is None
    assert "4000x500" in length_profiles(loaded(each) for each in SHIPPED.values())


def test_what_is_no_number_stays_for_the_check_to_say() -> None:
    text = SHIPPED["chat-8b"]
    changed = applied(text, {**posted(text), "max_gpus": "a few"}, ["on_demand"])
    with pytest.raises(InputError, match=r"policy\.max_gpus: expected a whole number, not 'a few'"):
        loaded(changed)


def test_a_text_that_holds_something_else_is_not_written_over() -> None:
    with pytest.raises(FieldError):
        with_values("policy: 3\n", {"policy.max_gpus": 2})
    with pytest.raises(InputError):
        with_values("a: [", {"name": "x"})


def test_the_comment_at_the_head_stays() -> None:
    text = with_values("# ours\nname: a\nworkloads:\n- name: a\n", {"name": "b"})
    assert text == "# ours\nname: b\nworkloads:\n- {name: a}\n"
    assert value_at(content_of("workloads:\n- name: a\n  slo: {ttft_ms: 5}\n"), "workloads[a].slo.ttft_ms.p95") == 5


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_every_limit_moves_within_what_a_scenario_may_say(name: str) -> None:
    scenario, text = loaded(SHIPPED[name]), SHIPPED[name]
    for slider in sliders_of(scenario):
        assert slider.low < slider.high
        for value in (slider.low, slider.high):
            moved = loaded(with_values(text, {slider.field: int(value) if float(value).is_integer() else value}))
            assert moved.name == scenario.name
        if slider.sweep:
            assert sweep_of(sweep_text(slider), scenario).name == slider.sweep
