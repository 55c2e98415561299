"""Platforms that serve models on Kubernetes: KServe's LLMInferenceService, the llm-d chart, Dynamo's graph."""

import shlex
from collections.abc import Sequence
from typing import Any

from optimizer.answers.running.export.record import CannotCarry, Run
from optimizer.answers.running.export.targets import common
from optimizer.inputs.catalog.entries.deploying import DeployFacts


def kserve(runs: Sequence[Run], facts: DeployFacts) -> dict[str, str]:
    """KServe v1alpha2; parallelism and model have keys of their own, everything else is an argument of vLLM."""
    (run,) = runs
    common.only_vllm(run)
    gpus = {common.gpu_resource(facts, run): str(run.server.gpus)}
    words = run.server.arguments("served_name", "tensor_parallel", "pipeline_parallel", "host", "port")
    arguments = {"name": "VLLM_ADDITIONAL_ARGS", "value": shlex.join(words)}
    container = {
        "name": "main",
        "image": common.image(run),
        "env": [arguments, common.hf_token()],
        "resources": {"limits": gpus, "requests": gpus},
    }
    spec: dict[str, Any] = {
        "model": {"uri": f"hf://{run.server.checkpoint.hf_id}", "name": run.server.served_name},
        **_kserve_replicas(run),
        "parallelism": {"tensor": run.server.tensor_parallel, "pipeline": run.server.pipeline_parallel},
        "router": {"route": {}, "scheduler": {}},
        "template": {"nodeSelector": common.node_labels(facts, run), "containers": [container]},
    }
    content = {
        "apiVersion": "serving.kserve.io/v1alpha2",
        "kind": "LLMInferenceService",
        "metadata": {"name": run.name, "annotations": common.annotations(run)},
        "spec": spec,
    }
    remark = "Scaling is by the workload variant autoscaler, which has to be in the cluster." if run.load.scales else ""
    return {"kserve.yaml": common.header(runs, remark) + common.document(content)}


def _kserve_replicas(run: Run) -> dict[str, Any]:
    """A number, or bounds with what a replica costs an hour; the two exclude each other."""
    if not run.load.scales:
        return {"replicas": run.load.max_replicas}
    cost = run.machine.price_usd_per_hour * run.server.gpus / run.machine.gpus
    autoscaler = {"variantCost": f"{cost:.4f}", "hpa": {}}
    fewest = max(run.load.min_replicas, 1)
    return {"scaling": {"minReplicas": fewest, "maxReplicas": run.load.max_replicas, "wva": autoscaler}}


def llmd(runs: Sequence[Run], facts: DeployFacts) -> dict[str, str]:
    """Values of the llm-d model service chart: all replicas decode, and take their own prompts."""
    (run,) = runs
    common.only_vllm(run)
    common.not_pipelined(run, "the chart")
    accelerator = facts.name("llm-d", "vendor", run.machine.vendor)
    if accelerator is None:
        raise CannotCarry(f"the chart is not known to take GPUs of {run.machine.vendor}")
    container = {
        "name": "vllm",
        "image": common.image(run),
        "modelCommand": "vllmServe",
        "args": run.server.arguments("served_name", "tensor_parallel", "pipeline_parallel", "host", "port"),
    }
    content = {
        "modelArtifacts": {
            "name": run.server.served_name,
            "labels": {"llm-d.ai/inferenceServing": "true", "llm-d.ai/model": run.name},
            "uri": f"hf://{run.server.checkpoint.hf_id}",
            "size": f"{round(run.server.checkpoint.download_gb * 1.2) + 1}Gi",
            "authSecretName": "hf-token",
        },
        "accelerator": {"type": accelerator},
        "decode": {
            "create": True,
            "replicas": run.load.max_replicas,
            "nodeSelector": common.node_labels(facts, run),
            "parallelism": {"tensor": run.server.tensor_parallel, "data": 1},
            "containers": [container],
        },
        "prefill": {"create": False},
    }
    remark = (
        "The chart keeps the replicas of the busiest hours: set decode.replicas by the hour." if run.load.scales else ""
    )
    chart = "Values for the llm-d-modelservice chart v0.4.12."
    return {"llm-d-values.yaml": common.header(runs, chart, remark) + common.document(content)}


def dynamo(runs: Sequence[Run], facts: DeployFacts) -> dict[str, str]:
    """A Dynamo graph with one frontend, whose workers take their own prompts."""
    (run,) = runs
    common.only_vllm(run)
    runtime = facts.name("dynamo", "image", run.server.engine)
    if runtime is None or run.machine.vendor != "nvidia":
        raise CannotCarry(f"no Dynamo runtime with {run.server.engine_name} for {run.machine.vendor} GPUs is known")
    worker = {
        "envFromSecret": "hf-token-secret",
        "componentType": "worker",
        "replicas": run.load.max_replicas,
        "resources": {"limits": {"gpu": str(run.server.gpus)}},
        "extraPodSpec": {
            "nodeSelector": common.node_labels(facts, run),
            "mainContainer": {
                "image": runtime,
                "command": ["python3", "-m", "dynamo.vllm"],
                "args": ["--model", run.server.checkpoint.hf_id, *run.server.arguments("host", "port")],
            },
        },
    }
    frontend = {
        "componentType": "frontend",
        "replicas": 1,
        "extraPodSpec": {"mainContainer": {"image": runtime, **_router_mode(run)}},
    }
    content = {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": run.name, "annotations": common.annotations(run)},
        "spec": {"services": {"Frontend": frontend, "VllmWorker": worker}},
    }
    engine = f"Nobody recorded which vLLM the image holds; the plan assumes {run.server.engine_version}."
    return {"dynamo.yaml": common.header(runs, common.EXPERIMENTAL, engine) + common.document(content)}


def _router_mode(run: Run) -> dict[str, Any]:
    """The frontend's environment where the plan counts on a router."""
    mode = {"in_turn": "round-robin", "least_loaded": "least-loaded"}.get(run.router)
    return {"env": [{"name": "DYN_ROUTER_MODE", "value": mode}]} if mode else {}
