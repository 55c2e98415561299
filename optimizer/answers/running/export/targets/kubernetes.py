"""Plain Kubernetes: a Deployment, its Service, what keeps it up during drains, and an autoscaler where it scales."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from optimizer.answers.running.export.record import Run
from optimizer.answers.running.export.targets import common
from optimizer.inputs.catalog.entries.deploying import DeployFacts
from optimizer.inputs.scenario.policy import DEALING

PROBE_S: Final = 10
CALM_S: Final = 300
"""Seconds for which load must be low before replicas are taken away."""


def kubernetes(runs: Sequence[Run], facts: DeployFacts) -> dict[str, str]:
    """One file with everything of a deployment."""
    (run,) = runs
    parts = [_deployment(run, facts), _service(run), _disruption(run)]
    if run.load.scales and run.server.metric:
        parts.append(_autoscaler(run, run.server.metric))
    return {"kubernetes.yaml": common.header(runs, *_remarks(run, facts)) + common.document(*parts)}


def _remarks(run: Run, facts: DeployFacts) -> Iterator[str]:
    """What the cluster needs for it, and what no object says."""
    metric = run.server.metric
    if not facts.names_of("kubernetes", "provider", run.machine.provider):
        yield f"Nodes are chosen by their GPU: nobody recorded how nodes of {run.machine.provider} are labelled."
    if run.router in DEALING and run.load.max_replicas > 1:
        yield "A Service sends each connection to a pod by chance: put a proxy before the pods that does as planned."
    if run.load.scales and metric:
        yield f"The autoscaler needs the metric {_adapted(metric)}, which a Prometheus adapter makes of {metric}."
    if run.load.scales and not metric:
        yield f"No metric of {run.server.engine_name} is known: set the replicas by the hour, see README.md."
    if run.load.scales and metric and not run.load.min_replicas:
        yield "The plan runs none at quiet hours: scale the Deployment to 0 then, see README.md."


def _labels(run: Run) -> dict[str, str]:
    return {"app.kubernetes.io/name": run.name}


def _all_labels(run: Run) -> dict[str, str]:
    return {**_labels(run), "app.kubernetes.io/part-of": run.workload_label}


def _metadata(run: Run) -> dict[str, Any]:
    return {"name": run.name, "labels": _all_labels(run)}


def _deployment(run: Run, facts: DeployFacts) -> dict[str, Any]:
    """Replicas on the planned nodes; none is started before its GPU is free, for the plan buys no spare ones."""
    spec = {
        "replicas": run.load.max_replicas,
        "selector": {"matchLabels": _labels(run)},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
        "template": {"metadata": {"labels": _all_labels(run)}, "spec": _pod(run, facts)},
    }
    metadata = _metadata(run) | {"annotations": common.annotations(run)}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def _pod(run: Run, facts: DeployFacts) -> dict[str, Any]:
    """One replica."""
    resource = common.gpu_resource(facts, run)
    gpus = {resource: str(run.server.gpus)}
    probe = {"httpGet": {"path": common.HEALTH, "port": "http"}, "periodSeconds": PROBE_S}
    container = {
        "name": "server",
        "image": common.image(run),
        "command": common.server(run),
        "ports": [{"name": "http", "containerPort": run.server.port}],
        "env": [common.hf_token()],
        "resources": {"limits": gpus, "requests": gpus},
        "startupProbe": {**probe, "failureThreshold": common.START_UP_S // PROBE_S},
        "readinessProbe": probe,
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    }
    return {
        "nodeSelector": common.node_labels(facts, run),
        "tolerations": [{"key": resource, "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [container],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }


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
    running = {"type": "AverageValue", "averageValue": str(max(int(run.load.concurrency), 1))}
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": run.name},
        "minReplicas": max(run.load.min_replicas, 1),
        "maxReplicas": run.load.max_replicas,
        "metrics": [{"type": "Pods", "pods": {"metric": {"name": _adapted(metric)}, "target": running}}],
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": CALM_S}},
    }
    metadata = _metadata(run)
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec}
