"""Tools that rent the machines, too: SkyPilot and dstack; and variables for a Terraform module of one's own."""

import json
import re
from collections.abc import Hashable, Sequence
from decimal import Decimal
from typing import Any, Final

from optimizer.answers.running.export.record import Run
from optimizer.answers.running.export.targets import common
from optimizer.inputs.catalog.entries.deploying import DeployFacts

ACCELERATOR_WITH_RATE: Final = re.compile(r"^[A-Z0-9]+(?::[0-9]+)?$")
"""What SkyPilot 0.14 takes for a key of `target_qps_per_replica`: no A100-80GB."""


def one_service(run: Run) -> Hashable:
    """Deployments that SkyPilot runs as one service: the same server on the same GPUs for the same requests."""
    server, machine = run.server, run.machine
    return run.workload, run.pool, server.command, tuple(server.flags.items()), server.gpus, machine.gpu, machine.gpus


def skypilot(runs: Sequence[Run], facts: DeployFacts) -> dict[str, str]:
    """A service of SkyPilot on any of the offers of the plan; spot replicas fall back to the same ones on demand."""
    first = runs[0]
    for run in runs:
        common.whole_machine(run, "SkyPilot")
    accelerator = f"{common.name_in(facts, 'skypilot', first)}:{first.server.gpus}"
    content = {
        "name": first.name,
        "service": {
            "readiness_probe": {"path": common.HEALTH, "initial_delay_seconds": common.START_UP_S},
            **_scaling(runs, accelerator),
        },
        "resources": {
            "ports": first.server.port,
            "image_id": f"docker:{common.image(first)}",
            "any_of": _offers(runs, accelerator, facts),
            "disk_size": max(run.disk_gb for run in runs),
            **_dearest(runs),
        },
        "secrets": {"HF_TOKEN": None},
        "run": common.shell(first),
    }
    joined = f"One service for {len(runs)} deployments of the plan." if len(runs) > 1 else ""
    return {"skypilot.yaml": common.header(runs, joined) + common.document(content)}


def _scaling(runs: Sequence[Run], accelerator: str) -> dict[str, Any]:
    """Bounds and the rate at which one more replica starts, by accelerator where SkyPilot takes its name."""
    fewest, most = common.bounds(runs)
    policy: dict[str, Any] = {"min_replicas": fewest, "max_replicas": most}
    rate = round(min(run.load.target_per_s for run in runs), 4)
    named = ACCELERATOR_WITH_RATE.match(accelerator) is not None
    # SkyPilot takes rates by accelerator with the balancing that knows them alone
    in_turn = any(run.router == "in_turn" for run in runs)
    policy["target_qps_per_replica"] = {accelerator: rate} if named and not in_turn else rate
    if any(run.machine.spot for run in runs):
        policy["base_ondemand_fallback_replicas"] = sum(r.load.max_replicas for r in runs if not r.machine.spot)
        policy |= {"dynamic_ondemand_fallback": True, "spot_placer": "dynamic_fallback"}
    balancing = "round_robin" if in_turn else "instance_aware_least_load" if named else None
    return {"replica_policy": policy, **({"load_balancing_policy": balancing} if balancing else {})}


def _offers(runs: Sequence[Run], accelerator: str, facts: DeployFacts) -> list[dict[str, Any]]:
    """Where replicas may run, each place once; places of spot machines on demand, too."""
    planned = [(common.rented_from(facts, "skypilot", run), run.machine.spot) for run in runs]
    fallbacks = [(infra, False) for infra, spot in planned if spot]
    places = dict.fromkeys([*planned, *fallbacks])
    return [{"infra": infra, "accelerators": accelerator, "use_spot": spot} for infra, spot in places]


def _dearest(runs: Sequence[Run]) -> dict[str, float]:
    """The dearest hour of the plan's machines, or their fallback, at list price; nothing where nobody lists one."""
    prices: list[Decimal | None] = [run.machine.rented_usd_per_hour for run in runs]
    prices += [run.machine.on_demand_usd_per_hour for run in runs if run.machine.spot]
    known = [price for price in prices if price is not None]
    return {"max_hourly_cost": float(max(known))} if len(known) == len(prices) else {}


def dstack(runs: Sequence[Run], facts: DeployFacts) -> dict[str, str]:
    """A service of dstack on the plan's backend, at no more than the list price there."""
    (run,) = runs
    common.whole_machine(run, "dstack")
    backend, machine, load = common.rented_from(facts, "dstack", run), run.machine, run.load
    scaled: dict[str, Any] = {"replicas": load.max_replicas}
    if load.scales:
        scaling = {"metric": "rps", "target": round(load.target_per_s, 4)}
        scaled = {"replicas": f"{load.min_replicas}..{load.max_replicas}", "scaling": scaling}
    pinned = {"regions": [machine.region], "instance_types": [machine.instance_type]}
    content = {
        "type": "service",
        "name": run.name,
        "image": common.image(run),
        "env": ["HF_TOKEN"],
        "commands": [common.shell(run)],
        "port": run.server.port,
        "model": run.server.served_name,
        **scaled,
        "resources": {"gpu": f"{common.name_in(facts, 'dstack', run)}:{run.server.gpus}", "disk": f"{run.disk_gb}GB"},
        "backends": [backend],
        **(pinned if common.places_as_the_cloud_says(facts, run) else {}),
        "spot_policy": "spot" if machine.spot else "on-demand",
        **({"max_price": float(machine.rented_usd_per_hour)} if machine.rented_usd_per_hour is not None else {}),
    }
    remark = "Scaling by requests needs a gateway." if load.scales else ""
    return {"dstack.yml": common.header(runs, remark) + common.document(content)}


def terraform(runs: Sequence[Run], facts: DeployFacts) -> dict[str, str]:
    """Values for a module of one's own, and the declarations they need; JSON, whose remarks are descriptions."""
    del facts
    (run,) = runs
    common.own_machines(run, "Terraform")
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
        "min_replicas": run.load.min_replicas,
        "max_replicas": run.load.max_replicas,
        "container_image": run.server.image or "",
        "server_command": common.server(run),
        "model": run.server.checkpoint.hf_id,
        "routing_weight": round(run.load.weight, 4),
        "root_volume_gb": run.disk_gb,
    }
    kinds = {bool: "bool", str: "string", int: "number", float: "number", list: "list(string)"}
    declared = {name: {"type": kinds[type(value)]} for name, value in values.items()}
    declared["plan_id"]["description"] = f"Of the plan whose {run.name} this is. {common.EXPERIMENTAL}"
    return {
        "plan.auto.tfvars.json": json.dumps(values, indent=2) + "\n",
        "variables.tf.json": json.dumps({"variable": declared}, indent=2) + "\n",
    }
