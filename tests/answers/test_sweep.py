"""`sweep`: every run as `plan` answers it, the same bytes from any number of processes, stopped or not."""

import errno
import json
import multiprocessing
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from optimizer.answers.many.sweep import planning, reading
from optimizer.answers.many.sweep.planning import RunPlanner
from optimizer.answers.many.sweep.reading import load_sweep
from optimizer.answers.many.sweep.results import RESULTS, UNFINISHED, SweepFolder
from optimizer.answers.many.sweep.sweep import sweep
from optimizer.answers.many.sweep.types import RunLimits, SweepRow, SweepRuns
from optimizer.answers.planning.optimize import optimize
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.requirements.stated import with_field
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.plan.question import predicting
from optimizer.report.export import rendered
from optimizer.report.many.sweep import sweep_answer

CHAT = {
    "name": "chat", "model": "llama-3.1-8b", "requests_per_second": 8, "input_tokens": 1000, "output_tokens": 300,
    "slo": {"ttft_ms": 3000, "tpot_ms": 60},
}  # fmt: skip
ASKED = {"name": "swept", "workloads": [CHAT], "policy": {"engines": ["vllm"], "precisions": ["fp8"]}}
RATE, CONFIDENCE, TTFT = "workloads[chat].requests_per_second", "policy.confidence", "workloads[chat].slo.ttft_ms.p95"
OVER = {RATE: [2, 40], "policy.max_gpus": [1, 8]}
"""Every run has a plan but that at the high rate on one GPU."""

Reads = Callable[..., SweepRuns]


@pytest.fixture(scope="module")
def few(catalogs: Catalogs) -> Catalogs:
    """Two cards of one seller."""
    wanted = {"secure-l40s", "secure-l4"}
    offers = (o for o in catalogs.offers if o.provider == "runpod" and o.instance_type in wanted)
    return replace(catalogs, offers=tuple(offers))


@pytest.fixture
def reads(few: Catalogs, tmp_path: Path) -> Reads:
    """A sweep file written beside its scenario, and read."""

    def write(**content: Any) -> SweepRuns:
        (tmp_path / "asked.yaml").write_text(yaml.safe_dump(ASKED))
        (tmp_path / "sweep.yaml").write_text(yaml.safe_dump({"scenario": "asked.yaml", **content}, sort_keys=False))
        return load_sweep(tmp_path / "sweep.yaml", few)

    return write


def refused(reads: Reads, **content: Any) -> list[str]:
    with pytest.raises(InputError) as error:
        reads(**content)
    return [str(finding).split("sweep.yaml")[-1] for finding in error.value.findings]


def test_a_product_lists_its_last_path_first_and_every_row_is_the_plan_of_its_scenario(
    reads: Reads, few: Catalogs
) -> None:
    found = sweep(reads(over=OVER))
    assert [tuple(row.inputs.values()) for row in found.rows] == [(2, 1), (2, 8), (40, 1), (40, 8)]
    assert [row.outcome for row in found.rows] == ["optimal", "optimal", "infeasible", "optimal"]
    for row in (found.rows[0], found.rows[-1]):
        scenario = Scenario.model_validate(ASKED)
        for path, value in row.inputs.items():
            scenario = with_field(scenario, path, value)  # type: ignore[arg-type]
        plan = optimize(scenario, few)
        assert (row.outcome, row.monthly_cost_usd, row.cheapest_usd) == (
            plan.outcome, plan.monthly_cost_usd, plan.cheapest_usd,
        )  # fmt: skip
        assert row.total_gpus == sum(each.gpus for each in plan.purchases)
    least = min(row.monthly_cost_usd for row in found.rows if row.monthly_cost_usd is not None)
    assert {found.rows[at].monthly_cost_usd for at in found.cheapest} == {least}


def test_cases_are_a_plain_list_and_null_takes_a_field_away(reads: Reads) -> None:
    asked = reads(cases=[{CONFIDENCE: 0.5}, {RATE: None, "workloads[chat].users": 36000,
                  "workloads[chat].requests_per_user_hour": 0.8}])  # fmt: skip
    assert asked.varied == (CONFIDENCE, RATE, "workloads[chat].users", "workloads[chat].requests_per_user_hour")
    assert [run.scenario.policy.confidence for run in asked.runs] == [0.5, 0.9]
    assert asked.runs[1].scenario.workloads[0].requests_per_second == 8


def test_predictions_that_are_shared_change_no_byte(reads: Reads, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = {"workloads[chat].input_tokens": [500, 1000]}
    asked = reads(over=lengths | {TTFT: [800, 3000], "policy.spare_replicas": [0, 1]})
    predicted = list[str]()
    fresh = predicting.evaluate

    def counted(*arguments: Any) -> tuple[WorkloadOptions, ...]:
        predicted.append("")
        return fresh(*arguments)

    monkeypatch.setattr(predicting, "evaluate", counted)
    shared = {row.key: row for row in sweep(asked).rows}
    assert len(predicted) == 2
    for run in asked.runs:
        assert RunPlanner(asked.catalogs, RunLimits(200_000)).row(run) == shared[run.key]
    assert len(predicted) == 2 + len(asked.runs)


def test_price_lists_share_predictions_and_each_has_its_own_plan(
    reads: Reads, few: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    dear = tuple(o.model_copy(update={"price_usd_per_hour": o.price_usd_per_hour * 3}) for o in few.offers)
    lists = {"today": replace(few, offers=dear), "shipped": few}
    monkeypatch.setattr(reading, "_laid_over", lambda folder, *_: lists[folder])
    predicted, fresh = list[str](), predicting.evaluate
    monkeypatch.setattr(predicting, "evaluate", lambda *given: predicted.append("") or fresh(*given))
    asked = reads(over={"catalogs": ["today", "shipped"], RATE: [2, 40]})
    rows = sweep(asked).rows
    assert len(predicted) == 1
    assert [RunPlanner(asked.catalogs, RunLimits(200_000)).row(run) for run in asked.runs] == list(rows)
    assert rows[0].monthly_cost_usd != rows[2].monthly_cost_usd


@pytest.mark.slow("starts interpreters, one of which is killed")
def test_a_process_that_dies_takes_no_other_run_with_it(reads: Reads) -> None:
    asked = reads(over={CONFIDENCE: [0.5, 0.6, 0.7, 0.8, 0.9]})
    killed = list[int]()

    def kill_one(step: str) -> None:
        process = multiprocessing.active_children()[:1] if step == "run 3 of 5" else []
        for each in process:
            each.kill()
            killed.append(each.pid or 0)

    assert sweep(asked, jobs=2, progress=kill_one) == sweep(asked)
    assert len(killed) == 1


@pytest.mark.slow("starts interpreters")
def test_two_processes_and_a_sweep_that_was_stopped_give_the_same_bytes(reads: Reads, tmp_path: Path) -> None:
    asked = reads(over=OVER)
    steps = list[str]()
    one = sweep(asked, output=tmp_path / "one", progress=steps.append)
    assert steps == [f"run {number} of 4" for number in range(1, 5)]
    whole = (tmp_path / "one" / RESULTS).read_text()
    assert [json.loads(line)["key"] for line in whole.splitlines()] == [run.key for run in asked.runs]
    assert sweep(asked, output=tmp_path / "two", jobs=2) == one
    assert (tmp_path / "two" / RESULTS).read_text() == whole
    assert sorted(path.name for path in (tmp_path / "two").iterdir()) == [RESULTS]


def test_a_sweep_goes_on_behind_the_last_whole_line(reads: Reads, tmp_path: Path) -> None:
    asked, folder, steps = reads(over={CONFIDENCE: [0.5, 0.7, 0.9]}), tmp_path / "out", list[str]()
    found = sweep(asked, output=folder)
    whole = (folder / RESULTS).read_text()
    (folder / RESULTS).unlink()
    (folder / UNFINISHED).write_text(whole[: whole.rindex('"outcome"')])
    assert sweep(asked, output=folder, progress=steps.append) == found
    assert steps == ["run 3 of 3"]
    assert (folder / RESULTS).read_text() == whole
    assert not (folder / UNFINISHED).exists()
    sweep(asked, output=folder, progress=steps.append)
    assert steps == ["run 3 of 3"]


def test_rows_that_a_sweep_no_longer_lists_are_kept_beside_its_results(reads: Reads, tmp_path: Path) -> None:
    folder, steps = tmp_path / "out", list[str]()
    sweep(reads(over={CONFIDENCE: [0.5, 0.9]}), output=folder)
    sweep(reads(over={CONFIDENCE: [0.9]}), output=folder, progress=steps.append)
    assert len((folder / RESULTS).read_text().splitlines()) == 1
    sweep(reads(over={CONFIDENCE: [0.9, 0.5]}), output=folder, progress=steps.append)
    assert not steps


def test_what_was_cut_short_is_worked_out_again_under_another_limit(reads: Reads, tmp_path: Path) -> None:
    asked, steps = reads(over={RATE: [40]}), list[str]()
    short = sweep(asked, output=tmp_path / "out", work_limit=1).rows[0]
    assert (short.proven, short.work_limit) == (False, 1)
    (again,) = sweep(asked, output=tmp_path / "out", work_limit=1, progress=steps.append).rows
    assert again.model_dump_json() == short.model_dump_json()
    assert not steps
    assert sweep(asked, output=tmp_path / "out", progress=steps.append).rows[0].proven
    assert steps


def test_a_disk_that_is_full_keeps_whole_rows_and_is_named(
    reads: Reads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, full = os.fsync, iter([False, True])

    def fsync(file: int) -> None:
        if next(full):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        synced(file)

    rows = sweep(reads(over={RATE: [1, 2]})).rows
    folder = SweepFolder(tmp_path / "out")
    folder.begin()
    monkeypatch.setattr("optimizer.answers.many.sweep.results.os.fsync", fsync)
    folder.add(rows[0])
    with pytest.raises(InputError, match=r"results\.partial\.jsonl: cannot be written: .*space"):
        folder.add(rows[1])
    monkeypatch.undo()
    assert list(SweepFolder(tmp_path / "out").known) == [rows[0].key]


def test_a_folder_of_something_else_is_left_alone(reads: Reads, tmp_path: Path) -> None:
    (tmp_path / RESULTS).write_text('{"mine": 1}\n{"mine": 2}\n')
    with pytest.raises(InputError, match=r"results\.jsonl:1: is no row of a sweep"):
        sweep(reads(over={RATE: [1]}), output=tmp_path)


def test_a_run_that_fails_is_a_row_and_is_tried_again(
    reads: Reads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = reads(over={CONFIDENCE: [0.5, 0.9]})
    planned = planning.confirmed_plan

    def fails(inquiry: planning.Inquiry) -> Any:
        if inquiry.scenario.policy.confidence == 0.5:
            raise ZeroDivisionError("by\nnothing")
        return planned(inquiry)

    with monkeypatch.context() as patch:
        patch.setattr(planning, "confirmed_plan", fails)
        found = sweep(asked, output=tmp_path / "out")
    assert [row.outcome for row in found.rows] == ["failed", "optimal"]
    assert found.rows[0].reason == "ZeroDivisionError: by nothing"
    assert found.summary.startswith("2 runs of swept: 1 proven optimal, 1 failed.")
    assert "What failed" in rendered(sweep_answer(found), found, "text")
    assert [row.outcome for row in sweep(asked, output=tmp_path / "out").rows] == ["optimal", "optimal"]


def test_what_can_not_be_asked_is_told_with_its_line_before_anything_runs(reads: Reads) -> None:
    wrong = {"policy.confidnce": [0.5], "workloads[chta].users": [5], "policy.max_gpus": [1, "many"],
             "workloads.chat.users": [1]}  # fmt: skip
    assert refused(reads, over=wrong) == [
        ":4: policy.confidnce: unknown field (did you mean confidence, price_confidence, countries?)",
        ":6: workloads[chta].users: nothing there is named 'chta' (did you mean chat?)",
        ":9: policy.max_gpus: expected a whole number, not 'many'",
        ":11: workloads.chat.users: leads through a list (name the entry in brackets, as in workloads[chat])",
    ]
    assert refused(reads, over={"policy.gpus.allow": [["l44"]]})[0].startswith(
        ":4: policy.gpus.allow: 'l44' matches nothing"
    )
    assert refused(reads, over={"workloads[chat].users": [5]}) == [
        ":4: workloads[chat].users: users and requests_per_user_hour go together (give both)"
    ]
    assert refused(reads, over={"catalogs": ["nowhere"]}) == [
        ":4: catalogs: no such folder: nowhere (a folder of your own catalog files)"
    ]
    assert refused(reads, over={"catalogs": ["nowhere"], "policy.max_gpus": [1, "many"]}) == [
        ":4: catalogs: no such folder: nowhere (a folder of your own catalog files)",
        ":7: policy.max_gpus: expected a whole number, not 'many'",
    ]
    assert refused(reads) == [":1: give either over or cases (for instance over: {policy.confidence: [0.5, 0.9]})"]
    assert refused(reads, ovr={}, over={CONFIDENCE: 0.5}) == [
        ":2: ovr: unknown field (did you mean over?)",
        f":4: over.{CONFIDENCE}: expected a list of values (for instance {CONFIDENCE}: [0.5])",
    ]


def test_a_path_with_brackets_in_braces_is_told_to_want_quotes(few: Catalogs, tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text("scenario: chat-8b\nover: {workloads[chat].users: [5]}\n")
    with pytest.raises(InputError, match=r"sweep\.yaml:2: broken YAML.*wants quotes"):
        load_sweep(tmp_path / "sweep.yaml", few)


def test_catalogs_are_a_path_like_others(reads: Reads, tmp_path: Path) -> None:
    (tmp_path / "cheap").mkdir()
    (tmp_path / "cheap" / "sources.csv").write_text("id,title,licence,as_of\nown-records,ours,own,2026-11-01\n")
    (tmp_path / "cheap" / "discounts.csv").write_text(
        "provider,gpu,pricing_term,percent,private,source,as_of,note\nrunpod,,,50,yes,own-records,2026-11-01,\n"
    )
    asked = reads(over={"catalogs": ["shipped", "cheap"], "policy.providers.allow": [["runpod"]]})
    assert len({run.key for run in asked.runs}) == 2
    listed, discounted = sweep(asked).rows
    assert listed.monthly_cost_usd == discounted.monthly_cost_usd * 2  # type: ignore[operator]


def test_the_same_question_in_other_words_is_worked_out_once(reads: Reads) -> None:
    steps = list[str]()
    found = sweep(reads(over={"policy.gpus.allow": ["l4", ["l4"]]}), progress=steps.append)
    assert steps == ["run 1 of 1"]
    assert [row.inputs["policy.gpus.allow"] for row in found.rows] == ["l4", ["l4"]]
    assert len({row.key for row in found.rows}) == 1


def test_the_table_names_what_varies_and_marks_the_cheapest(reads: Reads) -> None:
    found = sweep(reads(over={"policy.gpus.allow": [[], ["l40s"]], RATE: [40], "policy.max_gpus": [1, 8]}))
    text = rendered(sweep_answer(found, "out/results.jsonl"), found, "text")
    assert text.startswith("4 runs of swept: 2 proven optimal, 2 proven to have no plan. The plans cost ")
    assert "gpus.allow  requests_per_second  max_gpus  outcome" in text
    assert "any         40                   1         no plan" in text
    assert text.count("cheapest") == len(found.cheapest)


def test_rows_read_back_as_they_were_written(reads: Reads) -> None:
    for row in sweep(reads(over={RATE: [3.3333333]})).rows:
        written = row.model_dump_json()
        assert SweepRow.model_validate_json(written).model_dump_json() == written
