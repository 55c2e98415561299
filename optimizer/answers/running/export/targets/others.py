"""Docker Compose on one machine, and Ray Serve on a cluster of one's own."""

import json
from collections.abc import Sequence
from typing import Any, Final

from optimizer.answers.running.export.record import CannotCarry, Run
from optimizer.answers.running.export.targets import common
from optimizer.inputs.catalog.entries.deploying import DeployFacts

CACHE: Final = "/root/.cache/huggingface"


def compose(runs: Sequence[Run], facts: DeployFacts) -> dict[str, str]:
    """One machine's replicas, each with GPUs and a port of its own."""
    (run,) = runs
    common.own_machines(run, "Compose")
    driver = facts.name("compose", "vendor", run.machine.vendor)
    if driver is None:
        raise CannotCarry(f"nobody recorded how Compose reserves GPUs of {run.machine.vendor}")
    services = {_called(number): _replica(run, number, driver) for number in range(run.replicas_per_machine)}
    content = {"name": run.name, "services": services, "volumes": {"models": None}}
    return {"compose.yaml": common.header(runs, _where(run)) + common.document(content)}


def _where(run: Run) -> str:
    """On which of several machines to run it, and what of it where replicas do not fill them."""
    if run.instances == 1:
        return ""
    full, rest = divmod(run.load.max_replicas, run.replicas_per_machine)
    if full == run.instances:
        return f"One machine of {run.instances}: run it on each."
    partly = f", and on one more start only {' '.join(map(_called, range(rest)))}" if rest else ""
    return f"One machine of {run.instances}: run it on {full}{partly}."


def _called(number: int) -> str:
    return f"replica-{number}"


def _replica(run: Run, number: int, driver: str) -> dict[str, Any]:
    port = run.server.port
    devices = [str(number * run.server.gpus + each) for each in range(run.server.gpus)]
    reserved = {"driver": driver, "device_ids": devices, "capabilities": ["gpu"]}
    check = f"import urllib.request; urllib.request.urlopen('http://localhost:{port}{common.HEALTH}')"
    return {
        "image": common.image(run),
        "entrypoint": [],
        "command": [word.replace("$", "$$") for word in common.server(run)],
        "environment": {"HF_TOKEN": "${HF_TOKEN:-}"},
        "ports": [f"{port + number}:{port}"],
        "ipc": "host",
        "volumes": [f"models:{CACHE}"],
        "restart": "unless-stopped",
        "healthcheck": {"test": ["CMD", "python3", "-c", check], "start_period": f"{common.START_UP_S}s"},
        "labels": common.annotations(run),
        "deploy": {"resources": {"reservations": {"devices": [reserved]}}},
    }


def ray_serve(runs: Sequence[Run], facts: DeployFacts) -> dict[str, str]:
    """An application of Ray Serve; the flags of vLLM are its keywords."""
    (run,) = runs
    common.only_vllm(run)
    keywords = {
        words[0].removeprefix("--").replace("-", "_"): _typed(words[1:])
        for setting, words in run.server.flags.items()
        if setting not in ("served_name", "host", "port")
    }
    scaling = {
        "min_replicas": run.load.min_replicas,
        "max_replicas": run.load.max_replicas,
        "target_ongoing_requests": max(int(run.load.concurrency), 1),
    }
    model = {
        "model_loading_config": {"model_id": run.server.served_name, "model_source": run.server.checkpoint.hf_id},
        "accelerator_type": common.name_in(facts, "ray", run),
        "engine_kwargs": keywords,
        "deployment_config": {"autoscaling_config": scaling},
    }
    content = {
        "applications": [
            {
                "name": run.name,
                "route_prefix": "/",
                "import_path": "ray.serve.llm:build_openai_app",
                "args": {"llm_configs": [model]},
            }
        ]
    }
    engine = f"The cluster's Ray image must hold vLLM {run.server.engine_version}; nobody recorded one that does."
    return {"ray-serve.yaml": common.header(runs, common.EXPERIMENTAL, engine) + common.document(content)}


def _typed(words: Sequence[str]) -> object:
    """What stands behind a flag as Python has it; a flag alone is true."""
    if not words:
        return True
    (word,) = words
    if word.startswith("{"):
        return json.loads(word)
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word
