"""Speculative decoding in plans: where it pays replicas verify a draft, and a plan promises what its steps keep."""

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from support.exporting import on_tensorrt, runs, with_deployment
from support.scenarios import monthly_cost, proven

from optimizer import as_json, optimize
from optimizer.answers.running.benchmark import benchmark
from optimizer.answers.running.export.export import export, export_plan
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.entries.engines import Draft
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.policy import InForce
from optimizer.inputs.scenario.restating import with_accepted
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.lowering import LoweredRate, kin_of, with_lowered
from optimizer.plan.explain.alternatives import next_best, opportunities
from optimizer.plan.explain.simplicity import simplicity_of
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.readback import read_back
from optimizer.plan.readback.summary import by_second_words
from optimizer.plan.record.containers import ContainerHours, Containers
from optimizer.plan.record.fleet import Deployment, PlannedFleet
from optimizer.plan.record.report import Patchwork, PlanReport
from optimizer.plan.verify.verify import verify
from optimizer.report.running.benchmark.files import benchmark_answer

EAGLE = {"method": "eagle3", "draft_tokens": 3, "accepted_tokens": 2.5}
DRAFT = "nvidia/gpt-oss-120b-Eagle3-v3"
Bought = Callable[[], tuple[Inquiry, PlannedFleet]]


def question(*drafts: Any, gpu: str = "h200-sxm", tpot_ms: float = 9, **policy: Any) -> Scenario:
    """One workload on one GPU of one kind whose limit on a token few sequences at a time keep without a draft."""
    workload = {
        "name": "agents", "model": "gpt-oss-120b", "requests_per_second": 6, "input_tokens": 4000,
        "output_tokens": 800, "slo": {"tpot_ms": tpot_ms}, "speculation": list(drafts),
    }  # fmt: skip
    only = {"gpus": {"allow": [gpu]}, "engines": ["vllm"], "precisions": ["mxfp4"], "kv_precisions": ["bf16"]}
    return Scenario.model_validate({"name": "drafts", "workloads": [workload], "policy": only | policy})


@pytest.fixture(scope="module")
def bought(catalogs: Catalogs) -> Bought:
    """The question with a draft, and its plan, once."""

    def found() -> tuple[Inquiry, PlannedFleet]:
        inquiry = Inquiry.of(question(EAGLE), catalogs)
        return inquiry, proven(inquiry)

    return lru_cache(found)


def failing(inquiry: Inquiry, fleet: PlannedFleet, **changes: Any) -> set[str]:
    """The checks that fail once its first deployment is changed."""
    first, *others = fleet.deployments
    altered = replace(fleet, deployments=(first.model_copy(update=changes), *others))
    return {check.name for check in verify(inquiry.scenario, inquiry.catalogs, altered).checks if not check.passed}


def test_a_plan_drafts_where_that_is_cheaper(bought: Bought, catalogs: Catalogs) -> None:
    inquiry, fleet = bought()
    assert {(d.speculation, d.accepted_tokens) for d in fleet.deployments} == {("eagle3:3", 2.5)}
    plain = monthly_cost(question(), catalogs)
    assert plain is not None
    assert fleet.monthly_cost_usd < plain
    assert failing(inquiry, fleet) == set()


def test_a_draft_of_which_nothing_is_kept_changes_no_plan(catalogs: Catalogs) -> None:
    wasted = proven(Inquiry.of(question(EAGLE | {"accepted_tokens": 1}), catalogs))
    assert wasted == proven(Inquiry.of(question(), catalogs))


def test_a_draft_that_saves_as_little_as_a_simpler_plan_may_cost_is_left_out(
    bought: Bought, catalogs: Catalogs
) -> None:
    """With a limit that plain steps keep easily a draft saves nothing; and where it saves, no more than that."""
    lax, plain = (solved(Inquiry.of(question(*named, tpot_ms=100), catalogs)) for named in ((EAGLE,), ()))
    assert lax.solution.cost_usd_per_month == plain.solution.cost_usd_per_month
    assert not any(d.speculation for d in read_back(lax).deployments)
    saved = 1 - float(bought()[1].monthly_cost_usd) / float(monthly_cost(question(), catalogs) or 0)
    percent = {"simplicity_percent": 100 * saved / (1 - saved) + 0.1}
    kept = solved(Inquiry.of(question(EAGLE, **percent), catalogs))
    assert not any(d.speculation for d in read_back(kept).deployments)
    assert kept.cheapest is not None
    told = simplicity_of(kept, read_back(kept))
    assert f"costs ${told.premium_usd:,.2f} less but takes drafts: " in told.text


def test_a_plan_without_drafts_may_stand_for_one_that_is_as_large_with_them(catalogs: Catalogs) -> None:
    """Of one machine each, and the plain one dearer: verification withheld such plans, with exit code 70."""
    inquiry = Inquiry.of(question(tpot_ms=60, simplicity_percent=5), catalogs)
    fleet = proven(inquiry)
    own = simplicity_of(solved(inquiry), fleet)
    least = (fleet.monthly_cost_usd * Decimal("0.98")).quantize(Decimal("0.01"))
    counts = {name: getattr(own, name) for name in ("configurations", "providers", "regions", "instances")}

    def passed(*, drafts: bool) -> bool:
        cheapest = Patchwork(monthly_cost_usd=least, drafts=drafts, summary="as many machines", **counts)
        dearer = fleet.monthly_cost_usd - least
        premium = {"premium_usd": dearer, "premium_percent": float(dearer / least * 100)}
        told = own.model_copy(update={"cheapest": cheapest, **premium})
        return verify(inquiry.scenario, catalogs, fleet, simplicity=told).passed

    assert passed(drafts=True)
    assert not passed(drafts=False)


def test_the_better_of_several_drafts_is_chosen(bought: Bought, catalogs: Catalogs) -> None:
    worse = {"method": "eagle3", "draft_tokens": 7, "accepted_tokens": 2.5}
    both = proven(Inquiry.of(question(worse, EAGLE), catalogs))
    assert both.monthly_cost_usd == bought()[1].monthly_cost_usd
    assert {d.speculation for d in both.deployments} == {"eagle3:3"}


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"accepted_tokens": 2.6}, "offers"),
        ({"accepted_tokens": None}, "offers"),
        ({"speculation": "eagle3:2"}, "offers"),
        ({"speculation": "mtp:3"}, "offers"),
        ({"speculation": ""}, "offers"),
        ({"speculation": "", "accepted_tokens": None}, "service_levels"),
    ],
)
def test_another_draft_than_promised_is_told(changes: dict[str, Any], check: str, bought: Bought) -> None:
    """Without its draft a replica breaks the limit that it was chosen for."""
    assert check in failing(*bought(), **changes)


def test_who_rejects_estimates_has_no_drafts(catalogs: Catalogs, bought: Bought) -> None:
    """Naming a draft accepts an estimate of it where estimates are avoided, on machines that were measured."""
    strict = question(EAGLE, unmeasured_performance="reject")
    plan = proven(Inquiry.of(strict, catalogs))
    assert {d.speculation for d in plan.deployments} == {""}
    assert {d.provenance.performance for d in bought()[1].deployments} == {"estimated"}


def test_replicas_with_stages_have_no_draft(catalogs: Catalogs) -> None:
    (options,) = Inquiry.of(question(EAGLE), catalogs).options
    drafting = [c for c in options.configurations if c.speculation]
    assert {c.pipeline_parallel for c in drafting} == {1}
    assert {(c.draft_tokens, c.accepted_tokens) for c in drafting} == {(3, 2.5)}


def test_what_a_step_keeps_is_what_was_counted_unless_it_is_said(catalogs: Catalogs) -> None:
    asked = with_accepted(
        question("eagle3:3", {"method": "eagle3", "draft_tokens": 1, "accepted_tokens": 1.5}), catalogs
    )
    assert [draft.accepted_tokens for draft in asked.workloads[0].speculation] == [2.09, 1.5]
    (finding,) = check_scenario(question("eagle3:3"), catalogs)
    assert finding.field == "workloads[agents].speculation"
    with pytest.raises(InputError, match="nobody counted how many tokens a step of gpt-oss-120b keeps with mtp:1"):
        with_accepted(question("mtp"), catalogs)


def test_an_alternative_has_drafts_of_its_own(catalogs: Catalogs) -> None:
    content = question(EAGLE).model_dump()
    other = {"model": "gpt-oss-20b", "quality": 0.9, "speculation": {"method": "eagle3", "accepted_tokens": 1.4}}
    content["workloads"][0]["alternatives"] = [other]
    first, second = Inquiry.of(Scenario.model_validate(content), catalogs).options
    assert {c.speculation for c in first.configurations} == {"", "eagle3:3"}
    assert {c.speculation for c in second.configurations} == {"", "eagle3:1"}


@pytest.mark.parametrize(
    ("written", "name"),
    [("eagle3:3", "eagle3:3"), ("EAGLE3 3", "eagle3:3"), ("eagle3-3", "eagle3:3"), ("eagle3", "eagle3:1")],
)
def test_a_draft_is_written_in_short(written: str, name: str) -> None:
    assert Draft.model_validate(written).name == name


def test_a_draft_in_force_is_known_however_it_is_written() -> None:
    runs = dict.fromkeys(("workload", "model", "provider", "region", "instance_type", "gpu", "engine"), "x")
    runs |= {"precision": "fp8", "kv_precision": "bf16", "pricing_term": "on_demand"}
    counts = dict.fromkeys(("gpus_per_instance", "tensor_parallel", "pipeline_parallel", "replicas"), 1)
    assert InForce.model_validate({**runs, **counts, "speculation": "EAGLE3 1"}).speculation == "eagle3:1"
    with pytest.raises(ValueError, match="such as eagle3:3"):
        InForce.model_validate({**runs, **counts, "speculation": "eagle3:x"})


def test_what_a_simulation_lowers_is_of_one_draft(catalogs: Catalogs) -> None:
    """A plain replica's lowered rate once fell on drafting ones of the same GPU and precision, too."""
    (options,) = Inquiry.of(question(EAGLE), catalogs).options
    plain = next(c for c in options.configurations if not c.speculation and options.pools[0].rate_per_s.any())
    lowered = with_lowered(options, [LoweredRate("agents", kin_of(plain), 0.5, 0.85)], 0.85)
    share = lowered.limits.counted.everywhere
    drafting = np.array([bool(c.speculation) for c in options.configurations])
    alike = np.array([kin_of(c) == kin_of(plain) for c in options.configurations])
    assert (share[drafting] == 1).all()
    assert (share[alike] == 0.5).all()


def test_a_plan_on_measured_speeds_beside_one_that_drafts_has_no_draft(bought: Bought) -> None:
    inquiry, fleet = bought()
    (measured,) = (each for each in next_best(inquiry, fleet) if each.kind == "measured")
    (keep,), (options,) = measured.keep or (), inquiry.options
    assert keep.any()
    assert not any(c.speculation for c, kept in zip(options.configurations, keep, strict=True) if kept)


def test_a_draft_stands_once() -> None:
    with pytest.raises(ValueError, match="eagle3:3 stands there twice"):
        question(EAGLE, "eagle3:3")


@pytest.fixture(scope="module")
def report(catalogs: Catalogs) -> PlanReport:
    return optimize(question(EAGLE), catalogs, work_limit=200_000)


def test_a_plan_with_a_draft_says_so(report: PlanReport) -> None:
    """The first line, what is measured first, and the file, which reads back as it was."""
    assert " mxfp4 eagle3:3 (" in report.explanation.summary
    assert "nobody measured drafts (eagle3:3)" in report.deployments[0].provenance.performance_note
    assert report.explanation.benchmark is not None
    assert "drafting eagle3:3" in report.explanation.benchmark.text
    again = PlanReport.model_validate(json.loads(as_json(report)))
    assert [(d.speculation, d.accepted_tokens) for d in again.deployments] == [("eagle3:3", 2.5)]


ENGINES = {
    "vllm": ["--speculative-config", f'{{"method":"eagle3","model":"{DRAFT}","num_speculative_tokens":3}}'],
    "sglang": [
        *("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", DRAFT, "--speculative-num-steps", "3"),
        *("--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4"),
    ],
    "tensorrt-llm": [],
}


def on_engine(report: PlanReport, engine: str, catalogs: Catalogs) -> PlanReport:
    """The plan's first deployment on another engine."""
    if engine == "tensorrt-llm":
        return on_tensorrt(report, kv_precision="fp8")
    return with_deployment(report, engine=engine, engine_version=catalogs.engines[engine].newest_version)


def test_each_engine_is_told_what_to_draft(report: PlanReport, catalogs: Catalogs) -> None:
    for engine, words in ENGINES.items():
        (run, *_), _ = runs(on_engine(report, engine, catalogs), catalogs, {("gpt-oss-120b", "eagle3"): DRAFT})
        assert [*run.server.flags.get("speculation", ())] == words
        in_file = {"decoding_type": "Eagle3", "max_draft_len": 3, "speculative_model": DRAFT}
        told = run.server.config.get("speculative_config")
        assert told == (in_file if engine == "tensorrt-llm" else None)


def test_tools_hand_json_on_as_it_is(report: PlanReport, catalogs: Catalogs) -> None:
    """KServe's start script evaluates its words as a shell does; Ray takes keywords as Python has them."""
    plan = on_engine(report, "vllm", catalogs)
    found, _ = runs(plan, catalogs, {("gpt-oss-120b", "eagle3"): DRAFT})
    files = export(plan, catalogs, found, targets=("kserve", "ray-serve"), left_out=()).files
    asked = {"method": "eagle3", "model": DRAFT, "num_speculative_tokens": 3}
    kserve, ray = (next(yaml.safe_load_all(files[path])) for path in sorted(files) if path.endswith((".yaml", ".yml")))
    (words,) = (each["value"] for each in _found(kserve, "env") if each["name"] == "VLLM_ADDITIONAL_ARGS")
    told = shlex.split(words)
    assert json.loads(told[told.index("--speculative-config") + 1]) == asked
    assert _found(ray, "engine_kwargs")["speculative_config"] == asked


def _found(content: Any, key: str) -> Any:
    """The first value of that key, at whatever depth."""
    if isinstance(content, dict):
        if key in content:
            return content[key]
        content = list(content.values())
    parts = (_found(each, key) for each in content) if isinstance(content, list) else ()
    return next((each for each in parts if each is not None), None)


def test_containers_that_draft_say_so() -> None:
    fields = dict.fromkeys(("workload", "model", "engine", "provider", "name", "gpu"), "x")
    hours = ContainerHours.model_construct(containers=1, kept_up=False, share_up=0.5, waiting_share=0.0)
    numbers = {"gpus_per_replica": 1, "idle_timeout_s": 60.0, "start_up_s": 30.0, "usd_per_second": Decimal("0.001")}
    used = Containers.model_construct(
        **fields, **numbers, precision="mxfp4", speculation="eagle3:1", accepted_tokens=1.65, schedule=[hours]
    )
    assert "mxfp4 eagle3:1 on at most" in by_second_words(used)


def test_a_checkpoint_has_no_blanks(catalogs: Catalogs) -> None:
    with pytest.raises(InputError, match="names no checkpoint"):
        export_plan(Path("nowhere.json"), ["vllm"], catalogs, ["gpt-oss-120b:eagle3=x/y z"])


def test_a_benchmark_of_a_draft_says_that_random_tokens_are_no_text(report: PlanReport, catalogs: Catalogs) -> None:
    found = benchmark(report, Scenario.model_validate(report.inputs.scenario), catalogs, "vllm")
    (how,) = (each for each in benchmark_answer(found).sections if each.title == "How they measure")
    assert any("random tokens are none" in line for line in how.lines)


def test_a_draft_that_nobody_named_is_asked_for(report: PlanReport, catalogs: Catalogs) -> None:
    _, left_out = runs(report, catalogs)
    assert left_out
    assert all("--weights gpt-oss-120b:eagle3=PUBLISHER/NAME" in each.reason for each in left_out)


def test_a_deployment_without_a_draft_has_no_such_fields(report: PlanReport) -> None:
    plain = report.deployments[0].model_copy(update={"speculation": "", "accepted_tokens": None})
    assert not {"speculation", "accepted_tokens"} & Deployment.model_validate(plain).model_dump().keys()


@pytest.mark.parametrize(
    ("asked", "offered"),
    [
        (question(), ["with drafts (eagle3:1, eagle3:3)"]),
        (question(EAGLE), []),
        (question(unmeasured_performance="reject"), []),
    ],
)
def test_drafts_that_were_counted_are_told_to_who_names_none(
    asked: Scenario, offered: list[str], catalogs: Catalogs
) -> None:
    """Beside the plan stands what they would save."""
    beside = opportunities(Inquiry.of(asked, catalogs))
    assert [each.change for each in beside if each.kind == "speculation"] == offered
