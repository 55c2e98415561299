"""Plain Kubernetes: a Deployment, its Service, what keeps it up during drains, and an autoscaler where it scales."""

from collections.abc import Sequence
from typing import Any, Final

from optimizer.answers.export.record import Run
from optimizer.answers.export.targets import common
from optimizer.inputs.catalog.deploying import DeployFacts

PROBE_S: Final = 10
CALM_S: Final = 300
"""Seconds for which load must be low before replicas are taken away."""


def kubernetes(runs: Sequence[Run], facts: DeployFacts) -> dict[str, str]:
    """One file with everything of a deployment."""
    (run,) = runs
    parts = [_deployment(run, facts), _service(run), _disruption(run)]
    remark, own = "", facts.names_of("kubernetes", "provider", run.machine.provider)
    by_gpu = f"Nodes are chosen by their GPU: nobody recorded how nodes of {run.machine.provider} are labelled."
    if run.scales and run.metric:
        parts.append(_autoscaler(run, run.metric))
        remark = (
            f"The autoscaler needs the metric {_adapted(run.metric)}, which a Prometheus adapter makes of {run.metric}."
        )
        if not run.min_replicas:
            remark += " The plan runs none at quiet hours: scale the Deployment to 0 then, see README.md."
    elif run.scales:
        remark = f"No metric of {run.engine_name} is known to scale by: set the replicas by the hour, see README.md."
    return {"kubernetes.yaml": common.header(runs, remark, "" if own else by_gpu) + common.document(*parts)}


def _labels(run: Run) -> dict[str, str]:
    return {"app.kubernetes.io/name": run.name}


def _metadata(run: Run) -> dict[str, Any]:
    return {"name": run.name, "labels": {**_labels(run), "app.kubernetes.io/part-of": run.workload}}


def _deployment(run: Run, facts: DeployFacts) -> dict[str, Any]:
    """Replicas on the planned nodes; none is started before its GPU is free, for the plan buys no spare ones."""
    resource = common.gpu_resource(facts, run)
    gpus = {resource: str(run.gpus)}
    probe = {"httpGet": {"path": common.HEALTH, "port": "http"}, "periodSeconds": PROBE_S}
    container = {
        "name": "server",
        "image": common.image(run),
        "command": common.server(run),
        "ports": [{"name": "http", "containerPort": int(run.flags["port"][-1])}],
        "env": [common.hf_token()],
        "resources": {"limits": gpus, "requests": gpus},
        "startupProbe": {**probe, "failureThreshold": common.START_UP_S // PROBE_S},
        "readinessProbe": probe,
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    }
    pod = {
        "nodeSelector": common.node_labels(facts, run),
        "tolerations": [{"key": resource, "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [container],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }
    template = {"metadata": {"labels": {**_labels(run), "app.kubernetes.io/part-of": run.workload}}, "spec": pod}
    spec = {
        "replicas": run.max_replicas,
        "selector": {"matchLabels": _labels(run)},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
        "template": template,
    }
    metadata = _metadata(run) | {"annotations": common.annotations(run)}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def _service(run: Run) -> dict[str, Any]:
    ports = [{"name": "http", "port": 80, "targetPort": "http"}]
    spec = {"selector": _labels(run), "ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": _metadata(run), "spec": spec}


def _disruption(run: Run) -> dict[str, Any]:
    """One replica at a time may be drained."""
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": _labels(run)}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": _metadata(run), "spec": spec}


def _adapted(metric: str) -> str:
    """A metric's name as Kubernetes can write it."""
    return metric.replace(":", "_")


def _autoscaler(run: Run, metric: str) -> dict[str, Any]:
    """Between the fewest and the most replicas of the plan, by requests that run in one at the planned load."""
    running = {"type": "AverageValue", "averageValue": str(max(int(run.concurrency), 1))}
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": run.name},
        "minReplicas": max(run.min_replicas, 1),
        "maxReplicas": run.max_replicas,
        "metrics": [{"type": "Pods", "pods": {"metric": {"name": _adapted(metric)}, "target": running}}],
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": CALM_S}},
    }
    metadata = _metadata(run)
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec}
