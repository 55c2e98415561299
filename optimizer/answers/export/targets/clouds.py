"""Tools that rent the machines, too: SkyPilot and dstack; and variables for a Terraform module of one's own."""

import json
import re
from collections.abc import Hashable, Sequence
from decimal import Decimal
from typing import Any, Final

from optimizer.answers.export.record import Run
from optimizer.answers.export.targets import common
from optimizer.inputs.catalog.deploying import DeployFacts

ACCELERATOR_WITH_RATE: Final = re.compile(r"^[A-Z0-9]+(?::[0-9]+)?$")
"""What SkyPilot 0.14 takes for a key of `target_qps_per_replica`: no A100-80GB."""


def one_service(run: Run) -> Hashable:
    """Deployments that SkyPilot runs as one service: the same server on the same GPUs for the same requests."""
    machine = run.machine
    return run.workload, run.pool, run.command, tuple(run.flags.items()), machine.gpu, machine.gpus, run.gpus


def skypilot(runs: Sequence[Run], facts: DeployFacts) -> dict[str, str]:
    """A service of SkyPilot on any of the offers of the plan; spot replicas fall back to the same ones on demand."""
    first = runs[0]
    offers = []
    for run in runs:
        common.whole_machine(run, "SkyPilot")
        offers.append(common.rented_from(facts, "skypilot", run))
    accelerator = f"{common.name_in(facts, 'skypilot', first)}:{first.gpus}"
    rate = round(min(run.target_per_s for run in runs), 4)
    fewest, most = common.bounds(runs)
    by_accelerator = ACCELERATOR_WITH_RATE.match(accelerator) is not None
    policy: dict[str, Any] = {
        "min_replicas": fewest,
        "max_replicas": most,
        "target_qps_per_replica": {accelerator: rate} if by_accelerator else rate,
    }
    choices = [
        {"infra": infra, "accelerators": accelerator, "use_spot": run.machine.spot}
        for infra, run in zip(offers, runs, strict=True)
    ]
    if any(run.machine.spot for run in runs):
        policy |= {
            "base_ondemand_fallback_replicas": sum(run.max_replicas for run in runs if not run.machine.spot),
            "dynamic_ondemand_fallback": True,
            "spot_placer": "dynamic_fallback",
        }
        choices += [each | {"use_spot": False} for each in choices if each["use_spot"]]
    distinct = list({json.dumps(each): each for each in choices}.values())
    content: dict[str, Any] = {
        "name": first.name,
        "service": {
            "readiness_probe": {"path": common.HEALTH, "initial_delay_seconds": common.START_UP_S},
            "replica_policy": policy,
            **({"load_balancing_policy": "instance_aware_least_load"} if by_accelerator else {}),
        },
        "resources": {
            "ports": int(first.flags["port"][-1]),
            "image_id": f"docker:{common.image(first)}",
            "any_of": distinct,
            "disk_size": max(run.disk_gb for run in runs),
            **_dearest(runs),
        },
        "secrets": {"HF_TOKEN": None},
        "run": common.shell(first),
    }
    joined = f"One service for {len(runs)} deployments of the plan." if len(runs) > 1 else ""
    return {"skypilot.yaml": common.header(runs, joined) + common.document(content)}


def _dearest(runs: Sequence[Run]) -> dict[str, float]:
    """The dearest hour that the plan, or its fallback, pays; nothing where nobody lists the fallback."""
    prices: list[Decimal | None] = [run.machine.price_usd_per_hour for run in runs]
    prices += [run.machine.on_demand_usd_per_hour for run in runs if run.machine.spot]
    known = [price for price in prices if price is not None]
    return {"max_hourly_cost": float(max(known))} if len(known) == len(prices) else {}


def dstack(runs: Sequence[Run], facts: DeployFacts) -> dict[str, str]:
    """A service of dstack on the plan's backend, at no more than its price."""
    (run,) = runs
    common.whole_machine(run, "dstack")
    backend = common.rented_from(facts, "dstack", run)
    machine = run.machine
    scaled: dict[str, Any] = {"replicas": run.max_replicas}
    if run.scales:
        scaling = {"metric": "rps", "target": round(run.target_per_s, 4)}
        scaled = {"replicas": f"{run.min_replicas}..{run.max_replicas}", "scaling": scaling}
    content = {
        "type": "service",
        "name": run.name,
        "image": common.image(run),
        "env": ["HF_TOKEN"],
        "commands": [common.shell(run)],
        "port": int(run.flags["port"][-1]),
        "model": run.served_name,
        **scaled,
        "resources": {"gpu": f"{common.name_in(facts, 'dstack', run)}:{run.gpus}", "disk": f"{run.disk_gb}GB"},
        "backends": [backend],
        **_pinned(run, facts),
        "spot_policy": "spot" if machine.spot else "on-demand",
        "max_price": float(machine.price_usd_per_hour),
    }
    remark = "Scaling by requests needs a gateway." if run.scales else ""
    return {"dstack.yml": common.header(runs, remark) + common.document(content)}


def _pinned(run: Run, facts: DeployFacts) -> dict[str, list[str]]:
    """Region and instance type where the catalogs call them as the cloud does."""
    if "{region}" not in (facts.name("skypilot", "provider", run.machine.provider) or ""):
        return {}
    return {"regions": [run.machine.region], "instance_types": [run.machine.instance_type]}


def terraform(runs: Sequence[Run], facts: DeployFacts) -> dict[str, str]:
    """Values for a module of one's own, and the declarations they need; JSON, whose remarks are descriptions."""
    del facts
    (run,) = runs
    machine = run.machine
    values: dict[str, Any] = {
        "plan_id": run.plan_id,
        "expected_usd_month": float(run.monthly_usd),
        "provider_name": machine.provider,
        "region": machine.region,
        "instance_type": machine.instance_type,
        "instance_count": run.instances,
        "capacity_type": machine.pricing_term.upper(),
        "gpu_type": machine.gpu,
        "gpus_per_instance": machine.gpus,
        "replicas_per_instance": run.replicas_per_machine,
        "min_replicas": run.min_replicas,
        "max_replicas": run.max_replicas,
        "container_image": run.image or "",
        "server_command": common.server(run),
        "model": run.checkpoint.hf_id,
        "routing_weight": round(run.weight, 4),
        "root_volume_gb": run.disk_gb,
    }
    kinds = {bool: "bool", str: "string", int: "number", float: "number", list: "list(string)"}
    declared = {name: {"type": kinds[type(value)]} for name, value in values.items()}
    declared["plan_id"]["description"] = f"Of the plan whose {run.name} this is. {common.EXPERIMENTAL}"
    return {
        "plan.auto.tfvars.json": json.dumps(values, indent=2) + "\n",
        "variables.tf.json": json.dumps({"variable": declared}, indent=2) + "\n",
    }
