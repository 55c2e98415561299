"""What targets share: the header of a file, YAML that is always the same bytes, a server in a container."""

import json
import shlex
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Any, Final

import yaml

from optimizer.answers.running.export.record import CannotCarry, Run
from optimizer.base.figures import figure
from optimizer.inputs.catalog.entries.deploying import DeployFacts

EXPERIMENTAL: Final = "EXPERIMENTAL: validated against no schema or parser; read it before you run it."
HEALTH: Final = "/health"
START_UP_S: Final = 1800
"""As long as a server may take to load its weights before it counts as broken."""

WIDTH: Final = 120
TITLES: Final = {"skypilot": "SkyPilot", "dstack": "dstack", "ray": "Ray Serve"}
"""Tools as they call themselves, by what the catalogs call them."""


def header(runs: Sequence[Run], *lines: str) -> str:
    """Comment lines that say what a file is, from which plan, and what it is expected to cost."""
    first = runs[0]
    said = [f"Written by `optimizer export` for the scenario {first.scenario}.", f"Plan {first.plan_id}"]
    for run in runs:
        machine = run.machine
        where = f"{machine.provider} {machine.region} {machine.instance_type}, {machine.pricing_term}"
        what = f"{counted(run)} of {run.server.gpus}×{machine.gpu} on {where}"
        said.append(f"{run.name}: {what}; ${run.monthly_usd:,.2f} a month.")
    said += [line for line in lines if line]
    said += dict.fromkeys(f"{remark}." for run in runs for remark in run.remarks)
    wrapped = (wrap(line, WIDTH - 2, subsequent_indent="  ", break_on_hyphens=False) for line in said)
    return "".join(f"# {line}\n" for each in wrapped for line in each)


def counted(run: Run) -> str:
    """How many replicas, in words."""
    many = f"{run.load.min_replicas} to {run.load.max_replicas}" if run.load.scales else f"{run.load.max_replicas}"
    return f"{many} replica" if many == "1" else f"{many} replicas"


class _Plain(yaml.SafeDumper):
    """Writes as people do: commands of several lines as such, and what stands twice twice."""

    def ignore_aliases(self, data: Any) -> bool:
        """No part of a file refers to another."""
        del data
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Plain.add_representer(str, _text)


def document(*contents: Any) -> str:
    """YAML documents in the order in which their keys were written."""
    how: Any = {"Dumper": _Plain, "sort_keys": False, "width": WIDTH, "allow_unicode": True, "default_flow_style": None}
    return "---\n".join(yaml.dump(each, **how) for each in contents)


def image(run: Run) -> str:
    """The engine's pinned image.

    Raises:
        CannotCarry: none is known.
    """
    if run.server.image is None:
        engine = f"{run.server.engine_name} {run.server.engine_version}"
        raise CannotCarry(f"no container image of {engine} for {run.machine.vendor} GPUs is known")
    return run.server.image


def server(run: Run) -> list[str]:
    """The command line of a server in a container, its configuration file written first where it takes one."""
    words = [*run.server.command, *run.server.arguments()]
    if not run.server.config:
        return words
    path = run.server.flags["config_file"][-1]
    written = f"printf '%s\\n' {shlex.quote(json.dumps(run.server.config))} > {shlex.quote(path)}"
    return ["bash", "-c", f"{written} && exec {shlex.join(words)}"]


def shell(run: Run) -> str:
    """The same as a line of a shell, a flag a line."""
    if run.server.config:
        return shlex.join(server(run))
    return " \\\n  ".join(map(shlex.join, (run.server.command, *run.server.flags.values())))


def only_vllm(run: Run) -> None:
    """Raises CannotCarry where another engine serves."""
    if run.server.engine != "vllm":
        raise CannotCarry(f"the plan runs {run.server.engine_name}, and the files for this target run vLLM")


def not_pipelined(run: Run, target: str) -> None:
    """Raises CannotCarry where a replica has pipeline stages."""
    if run.server.pipeline_parallel > 1:
        raise CannotCarry(f"{target} has no key for {run.server.pipeline_parallel} pipeline stages")


def whole_machine(run: Run, target: str) -> None:
    """Raises CannotCarry where a machine holds more than one replica, or GPUs that none uses."""
    if run.server.gpus < run.machine.gpus:
        machine = f"{run.server.gpus} of the {run.machine.gpus} GPUs of {run.machine.instance_type}"
        raise CannotCarry(f"{target} gives each replica a machine of its own, and one of the plan takes {machine}")


def own_machines(run: Run, target: str) -> None:
    """Raises CannotCarry where other deployments may stand on the same machines."""
    machine = run.machine
    if machine.bought_with:
        bought = f"the {machine.bought} {machine.instance_type} instances are also for {', '.join(machine.bought_with)}"
        raise CannotCarry(f"{bought}, and {target} gives each deployment machines of its own")


def name_in(facts: DeployFacts, tool: str, run: Run) -> str:
    """What a tool calls the GPU.

    Raises:
        CannotCarry: nobody recorded it.
    """
    found = facts.name(tool, "gpu", run.machine.gpu)
    if found is None:
        raise CannotCarry(f"nobody recorded what {TITLES[tool]} calls {run.machine.gpu}; add it to deploy_names.csv")
    return found


def rented_from(facts: DeployFacts, tool: str, run: Run) -> str:
    """What a tool calls the provider, with the region where it takes one.

    Raises:
        CannotCarry: the hardware is one's own, or nobody recorded it.
    """
    machine = run.machine
    if machine.pricing_term == "owned":
        raise CannotCarry(f"{TITLES[tool]} rents machines, and these are your own")
    found = facts.name(tool, "provider", machine.provider)
    if found is None:
        raise CannotCarry(f"{TITLES[tool]} is not known to rent from {machine.provider}")
    return found.format(region=machine.region)


def places_as_the_cloud_says(facts: DeployFacts, run: Run) -> bool:
    """Whether the catalogs call regions and instance types as the provider itself does: tools are told them, too."""
    names = [row.name for row in facts.names if row.subject == "provider" and row.id == run.machine.provider]
    return any("{region}" in name for name in names)


def node_labels(facts: DeployFacts, run: Run) -> dict[str, str]:
    """The labels of the nodes that the plan rents: of the provider's own where they are known, else of the GPU.

    Raises:
        CannotCarry: neither is known, and a pod might land on another GPU.
    """
    machine = run.machine
    own = facts.names_of("kubernetes", "provider", machine.provider)
    labels = own or facts.names_of("kubernetes", "gpu", machine.gpu)
    if not labels:
        problem = f"no node label of {machine.gpu} or of {machine.provider} is known, and pods might land elsewhere"
        raise CannotCarry(f"{problem}; add one to deploy_names.csv")
    spot = facts.names_of("kubernetes", "provider_spot", machine.provider) if machine.spot else ()
    said = (label.format(region=machine.region, instance_type=machine.instance_type) for label in (*labels, *spot))
    return dict(label.split("=", 1) for label in said)


def gpu_resource(facts: DeployFacts, run: Run) -> str:
    """What Kubernetes calls a GPU of this vendor.

    Raises:
        CannotCarry: nobody recorded it.
    """
    found = facts.name("kubernetes", "vendor", run.machine.vendor)
    if found is None:
        raise CannotCarry(f"nobody recorded what Kubernetes calls GPUs of {run.machine.vendor}")
    return found


def annotations(run: Run) -> dict[str, str]:
    """What the plan says of a deployment, for whoever meets it in a cluster."""
    return {
        "optimizer/plan-id": run.plan_id,
        "optimizer/expected-usd-month": f"{run.monthly_usd:.2f}",
        "optimizer/routing-weight": f"{run.load.weight:.4f}",
        "optimizer/sustainable-requests-per-second": figure(run.load.sustainable_per_s, 4),
    }


def hf_token() -> dict[str, Any]:
    """The environment variable that opens gated models, from a secret of that name."""
    return {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf-token", "key": "HF_TOKEN"}}}


def bounds(runs: Iterable[Run]) -> tuple[int, int]:
    """Least and most replicas of deployments that are one service."""
    counts = [[item.replicas for item in run.load.schedule] for run in runs]
    together = [sum(each) for each in zip(*counts, strict=True)]
    return min(together), max(together)
