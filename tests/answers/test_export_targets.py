"""Each target's files against the rules of the tool that reads them, and against the record they say."""

import json
import math
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import kubernetes_validate
import pytest
import yaml
from support.exporting import documents, exported, on_spot, on_tensorrt, runs
from support.paths import ROOT

from optimizer.answers.running.export.record import CannotCarry, Export, Run
from optimizer.answers.running.export.targets.clouds import dstack, skypilot
from optimizer.answers.running.export.targets.common import EXPERIMENTAL
from optimizer.answers.running.export.targets.registry import TARGETS
from optimizer.inputs.catalog.kinds import UNCOMMITTED
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.inputs.scenario.policy import DEALING, Router
from optimizer.plan.record.report import PlanReport

Planned = Callable[[str], PlanReport]

PLANS = ["chat-8b", "eu-residency", "office-hours", "three-clouds", "token-scores"]
OTHERS = sorted({file.stem for file in shipped_dir("scenarios").glob("*.yaml")} - {*PLANS, "infeasible-latency"})
PAGE = ROOT / "docs" / "deploy.md"
RATE_KEY = re.compile(r"^[A-Z0-9]+(?::[0-9]+)?$")


@pytest.fixture(params=PLANS)
def found(request: pytest.FixtureRequest, planned: Planned, catalogs: Catalogs) -> Export:
    return exported(planned(request.param), catalogs, *TARGETS)


@pytest.mark.skipif(not PAGE.is_file(), reason="the page stands in the checkout")
def test_the_page_shows_what_is_written(planned: Planned, catalogs: Catalogs) -> None:
    (shown,) = re.findall(r"^```bash file=vllm.sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    (text,) = exported(planned("chat-8b"), catalogs, "vllm").files.values()
    assert text == shown
    assert all(f"`{name}`" in PAGE.read_text(encoding="utf-8") for name in TARGETS)


def run_named(found: Export, name: str) -> Run:
    return next(run for run in found.runs if run.name == name)


def of_target(found: Export, target: str) -> list[Any]:
    """A target's documents: none only where it says of every deployment why not."""
    contents = documents(found, TARGETS[target].file)
    assert contents or {each.what for each in found.left_out if each.target == target} == {
        run.name for run in found.runs
    }
    return contents


def test_a_plan_on_one_engine_is_written_for_every_target_of_it(planned: Planned, catalogs: Catalogs) -> None:
    found = exported(planned("office-hours"), catalogs, *TARGETS)
    assert {each.target for each in found.left_out} == {"sglang", "trtllm"}


def test_every_file_says_its_plan_and_its_price(found: Export) -> None:
    for path, text in found.files.items():
        run = run_named(found, path.split("/")[0])
        if path.endswith("variables.tf.json"):
            continue
        joined = text.replace("\n#  ", "")
        assert run.plan_id in joined, path
        assert f"{run.monthly_usd:,.2f}" in joined or path.endswith(".json"), path


def test_the_same_plan_gives_the_same_bytes(planned: Planned, catalogs: Catalogs, found: Export) -> None:
    again = exported(planned(found.scenario), catalogs, *TARGETS)
    assert again.files == found.files


def test_what_is_held_against_nothing_says_so(found: Export) -> None:
    for name, target in TARGETS.items():
        for path, text in found.files.items():
            if path.endswith(f"/{target.file}") and not path.endswith(".json") and name != "trtllm":
                assert (EXPERIMENTAL in text) == (not target.validated), path


def test_kubernetes_files_hold_against_its_own_schemas(found: Export) -> None:
    for content in of_target(found, "kubernetes"):
        kubernetes_validate.validate(content, "1.37", strict=True)


def test_kubernetes_runs_the_plan(found: Export) -> None:
    by_kind: dict[str, dict[str, Any]] = {}
    for content in of_target(found, "kubernetes"):
        by_kind.setdefault(content["kind"], {})[content["metadata"]["name"]] = content
    for name, deployment in by_kind["Deployment"].items():
        run, spec = run_named(found, name), deployment["spec"]
        pod = spec["template"]["spec"]
        (container,) = pod["containers"]
        labels = spec["template"]["metadata"]["labels"]
        assert spec["replicas"] == run.load.max_replicas
        assert spec["selector"]["matchLabels"].items() <= labels.items()
        assert by_kind["Service"][name]["spec"]["selector"].items() <= labels.items()
        assert by_kind["PodDisruptionBudget"][name]["spec"]["selector"] == spec["selector"]
        assert container["command"] == [*run.server.command, *run.server.arguments()]
        assert container["image"].endswith(run.server.engine_version)
        assert container["resources"]["limits"] == {"nvidia.com/gpu": str(run.server.gpus)}
        assert pod["nodeSelector"]
        assert deployment["metadata"]["annotations"]["optimizer/expected-usd-month"] == f"{run.monthly_usd:.2f}"
        assert (name in by_kind.get("HorizontalPodAutoscaler", {})) == run.load.scales
        if run.load.scales:
            scaler = by_kind["HorizontalPodAutoscaler"][name]["spec"]
            assert (scaler["minReplicas"], scaler["maxReplicas"]) == (
                max(run.load.min_replicas, 1),
                run.load.max_replicas,
            )


def test_nodes_are_the_providers_own_where_their_labels_are_known(planned: Planned, catalogs: Catalogs) -> None:
    found = exported(planned("three-clouds"), catalogs, "kubernetes")
    for content in of_target(found, "kubernetes"):
        if content["kind"] == "Deployment":
            machine = run_named(found, content["metadata"]["name"]).machine
            selector = content["spec"]["template"]["spec"]["nodeSelector"]
            assert selector["node.kubernetes.io/instance-type"] == machine.instance_type
            assert selector["topology.kubernetes.io/region"] == machine.region


def test_kserve_has_replicas_or_bounds_and_vllms_flags(found: Export) -> None:
    for content in of_target(found, "kserve"):
        run, spec = run_named(found, content["metadata"]["name"]), content["spec"]
        assert content["apiVersion"] == "serving.kserve.io/v1alpha2"
        assert set(spec) - {"replicas", "scaling"} == {"model", "parallelism", "router", "template"}
        assert ("scaling" in spec) == run.load.scales != ("replicas" in spec)
        (container,) = spec["template"]["containers"]
        said = {each["name"]: each.get("value", "") for each in container["env"]}["VLLM_ADDITIONAL_ARGS"]
        assert "--max-model-len" in said
        assert "--tensor-parallel-size" not in said
        assert spec["parallelism"]["tensor"] == run.server.tensor_parallel


def test_the_charts_values_have_its_keys(found: Export) -> None:
    for content in of_target(found, "llm-d"):
        assert set(content) == {"modelArtifacts", "accelerator", "decode", "prefill"}
        run = run_named(found, content["modelArtifacts"]["labels"]["llm-d.ai/model"])
        assert content["modelArtifacts"]["name"] == run.server.served_name
        assert content["modelArtifacts"]["labels"]["llm-d.ai/inferenceServing"] == "true"
        assert content["prefill"] == {"create": False}
        (container,) = content["decode"]["containers"]
        assert container["modelCommand"] == "vllmServe"
        assert all(isinstance(word, str) for word in container["args"])


def check_skypilot(content: Any) -> None:
    """The rules of SkyPilot 0.14's schema and service for what is written here."""
    service = content["service"]
    policy = service["replica_policy"]
    rate = policy["target_qps_per_replica"]
    assert policy["min_replicas"] <= policy["max_replicas"]
    if isinstance(rate, dict):
        assert all(RATE_KEY.match(key) for key in rate)
        assert service["load_balancing_policy"] == "instance_aware_least_load"
    else:
        assert rate > 0
        assert service.get("load_balancing_policy", "round_robin") == "round_robin"
    resources = content["resources"]
    assert set(resources) <= {"ports", "image_id", "any_of", "disk_size", "max_hourly_cost"}
    assert len({json.dumps(each) for each in resources["any_of"]}) == len(resources["any_of"])


@pytest.mark.parametrize(
    ("router", "balancing", "mode", "words"),
    [
        ("in_turn", "round_robin", "round-robin", "replicas in turn"),
        ("by_chance", "instance_aware_least_load", None, ""),
        ("least_loaded", "instance_aware_least_load", "least-loaded", "replicas that have the fewest in flight"),
    ],
)
def test_a_stated_router_is_deployed_or_asked_for(
    router: Router, balancing: str, mode: str | None, words: str, planned: Planned, catalogs: Catalogs
) -> None:
    report = planned("office-hours")
    stated = report.inputs.scenario | {"policy": {**report.inputs.scenario["policy"], "router": router}}
    asked = report.model_copy(update={"inputs": report.inputs.model_copy(update={"scenario": stated})})
    found = exported(asked, catalogs, "skypilot", "dynamo", "kubernetes")
    several = [run for run in found.runs if run.load.max_replicas > 1]
    assert several
    for content in of_target(found, "skypilot"):
        check_skypilot(content)
        assert content["service"]["load_balancing_policy"] == balancing
    for content in of_target(found, "dynamo"):
        container = content["spec"]["services"]["Frontend"]["extraPodSpec"]["mainContainer"]
        assert container.get("env", [{}])[0].get("value") == mode
    for run in several:
        told = [remark for remark in run.remarks if "counts on a router" in remark]
        assert [words in remark for remark in told] == ([True] if words else [])
        text = found.files[f"{run.name}/kubernetes.yaml"]
        assert ("put a proxy before the pods" in text.replace("\n#  ", "")) == (router in DEALING)


def test_skypilot_takes_rates_by_the_names_that_it_allows(found: Export) -> None:
    for content in of_target(found, "skypilot"):
        check_skypilot(content)
        (accelerator,) = {each["accelerators"] for each in content["resources"]["any_of"]}
        rate = content["service"]["replica_policy"]["target_qps_per_replica"]
        assert isinstance(rate, dict) == ("-" not in accelerator)


def test_spot_falls_back_to_the_same_machine_on_demand(planned: Planned, catalogs: Catalogs) -> None:
    found, _ = runs(planned("office-hours"), catalogs)
    on_demand, reserved = found
    (text,) = skypilot([on_spot(on_demand), reserved], catalogs.deploying).values()
    content = yaml.safe_load(text)
    check_skypilot(content)
    policy = content["service"]["replica_policy"]
    assert policy["base_ondemand_fallback_replicas"] == reserved.load.max_replicas
    assert policy["dynamic_ondemand_fallback"] is True
    assert {each["use_spot"] for each in content["resources"]["any_of"]} == {True, False}
    priced = on_spot(on_demand).machine.on_demand_usd_per_hour
    assert priced is not None
    assert content["resources"]["max_hourly_cost"] >= float(priced)


def test_deployments_that_are_one_service_are_written_once(planned: Planned, catalogs: Catalogs) -> None:
    report = planned("office-hours")
    (content,) = documents(exported(report, catalogs, "skypilot"), "skypilot.yaml")
    together = [sum(d.schedule[number].replicas for d in report.deployments) for number in range(len(report.periods))]
    policy = content["service"]["replica_policy"]
    assert (policy["min_replicas"], policy["max_replicas"]) == (min(together), max(together))


def test_a_target_says_what_it_cannot_carry(planned: Planned, catalogs: Catalogs) -> None:
    found = exported(planned("token-scores"), catalogs, "vllm", "skypilot", "dstack", "sglang")
    said = {(each.target, each.reason) for each in found.left_out}
    assert any("gives each replica a machine of its own" in reason for target, reason in said if target == "skypilot")
    assert ("sglang", "the plan runs vLLM") in said
    ((run,), _) = runs(planned("chat-8b"), catalogs)
    owned = replace(run, machine=replace(run.machine, pricing_term="owned"))
    with pytest.raises(CannotCarry, match="these are your own"):
        skypilot([owned], catalogs.deploying)
    stranger = replace(run, machine=replace(run.machine, provider="nobody"))
    with pytest.raises(CannotCarry, match="not known to rent from nobody"):
        dstack([stranger], catalogs.deploying)


def test_the_chart_knows_a_quantized_checkpoint_by_the_name_that_clients_ask_for(
    planned: Planned, catalogs: Catalogs
) -> None:
    found = exported(planned("two-shifts"), catalogs, "llm-d")
    for content in of_target(found, "llm-d"):
        artifacts = content["modelArtifacts"]
        run = run_named(found, artifacts["labels"]["llm-d.ai/model"])
        assert artifacts["uri"] == f"hf://{run.server.checkpoint.hf_id}"
        assert artifacts["name"] == run.server.model_name
    assert any(run.server.checkpoint.hf_id != run.server.model_name for run in found.runs)


DSTACK_NAME = re.compile(r"^[a-z][a-z0-9-]{1,40}$")


def test_dstack_asks_for_the_plans_machine_at_its_list_price(found: Export) -> None:
    for content in of_target(found, "dstack"):
        run = run_named(found, content["name"])
        assert DSTACK_NAME.match(content["name"])
        assert content["type"] == "service"
        assert content["resources"]["gpu"].endswith(f":{run.server.gpus}")
        assert content.get("max_price", math.inf) >= float(run.machine.price_usd_per_hour)
        if run.machine.pricing_term in UNCOMMITTED:
            assert content["max_price"] == float(run.machine.price_usd_per_hour)
        if run.load.scales:
            assert content["replicas"] == f"{run.load.min_replicas}..{run.load.max_replicas}"
            assert content["scaling"]["metric"] == "rps"
        else:
            assert content["replicas"] == run.load.max_replicas


def test_replicas_of_one_machine_share_neither_gpus_nor_ports(found: Export) -> None:
    for content in of_target(found, "compose"):
        run, services = run_named(found, content["name"]), content["services"].values()
        gpus = [
            gpu
            for service in services
            for device in service["deploy"]["resources"]["reservations"]["devices"]
            for gpu in device["device_ids"]
        ]
        assert len(gpus) == len(set(gpus)) == run.server.gpus * run.replicas_per_machine <= run.machine.gpus
        assert len({port for service in services for port in service["ports"]}) == len(services)


def test_ray_has_the_flags_as_keywords(found: Export) -> None:
    for content in of_target(found, "ray-serve"):
        (application,) = content["applications"]
        (model,) = application["args"]["llm_configs"]
        run = run_named(found, application["name"])
        assert model["engine_kwargs"]["tensor_parallel_size"] == run.server.tensor_parallel
        assert model["engine_kwargs"]["gpu_memory_utilization"] == pytest.approx(0.92)
        scaling = model["deployment_config"]["autoscaling_config"]
        assert (scaling["min_replicas"], scaling["max_replicas"]) == (run.load.min_replicas, run.load.max_replicas)


def test_dynamo_has_a_frontend_and_workers_on_the_planned_nodes(found: Export) -> None:
    for content in of_target(found, "dynamo"):
        services = content["spec"]["services"]
        assert set(services) == {"Frontend", "VllmWorker"}
        assert services["VllmWorker"]["replicas"] == run_named(found, content["metadata"]["name"]).load.max_replicas


def test_terraform_declares_what_it_sets(found: Export) -> None:
    written = [run for run in found.runs if f"{run.name}/plan.auto.tfvars.json" in found.files]
    assert written == [run for run in found.runs if not run.machine.bought_with]
    for run in written:
        values = json.loads(found.files[f"{run.name}/plan.auto.tfvars.json"])
        declared = json.loads(found.files[f"{run.name}/variables.tf.json"])["variable"]
        assert set(values) == set(declared)
        assert values["instance_count"] == run.instances
        assert "EXPERIMENTAL" in declared["plan_id"]["description"]


def test_scripts_are_sound_and_say_every_flag(found: Export) -> None:
    scripts = {path: text for path, text in found.files.items() if path.endswith(".sh")}
    assert scripts
    for path, text in scripts.items():
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)
        run = run_named(found, path.split("/")[0])
        for setting, words in run.server.flags.items():
            assert setting == "port" or " ".join(words) in text
        assert ("REPLICA" in text) == (run.machine.gpus > run.server.gpus)


def test_tensorrt_is_told_by_flags_and_a_file(planned: Planned, catalogs: Catalogs) -> None:
    found = exported(on_tensorrt(planned("chat-8b")), catalogs, "trtllm", "kubernetes", "compose", "kserve")
    (run,) = found.runs
    script = found.files[f"{run.name}/trtllm.sh"]
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    assert "EXPERIMENTAL" in script
    assert "--config extra-llm-api-config.yml" in script
    config = yaml.safe_load(found.files[f"{run.name}/extra-llm-api-config.yml"])
    assert config["kv_cache_config"]["free_gpu_memory_fraction"] == 0.9
    deployment = next(each for each in documents(found, "kubernetes.yaml") if each["kind"] == "Deployment")
    shell, option, line = deployment["spec"]["template"]["spec"]["containers"][0]["command"]
    assert (shell, option) == ("bash", "-c")
    subprocess.run(["bash", "-n"], input=line, text=True, check=True)
    assert [each.target for each in found.left_out] == ["kserve"]


@pytest.mark.slow("plans every shipped scenario")
@pytest.mark.parametrize("name", OTHERS)
def test_every_shipped_scenario_is_exported_to_every_target(name: str, planned: Planned, catalogs: Catalogs) -> None:
    """What a target does not write of a deployment it leaves out with the reason; SkyPilot joins some to a service."""
    report = planned(name)
    found = exported(report, catalogs, *TARGETS) if report.deployments else None
    if found is None:
        return
    for content in of_target(found, "skypilot"):
        check_skypilot(content)
    for content in of_target(found, "kubernetes"):
        kubernetes_validate.validate(content, "1.37", strict=True)
    left_out = {(each.target, each.what) for each in found.left_out}
    for target in TARGETS.keys() - {"skypilot", "focus"}:
        files = {path.split("/")[0] for path in found.files if path.endswith(f"/{TARGETS[target].file}")}
        assert files | {run.name for run in found.runs if (target, run.name) in left_out} >= {
            run.name for run in found.runs
        }, target
    written = {path.split("/")[0] for path in found.files}
    refused = {each.what for each in found.left_out if not each.target}
    assert {run.name for run in found.runs} == written
    assert len(found.runs) + len(refused) == len(report.deployments) + len(report.hosted)
