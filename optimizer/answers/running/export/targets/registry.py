"""Every target: what writes it, what is run to use it, and what it was checked against."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from optimizer.answers.running.export.record import Run
from optimizer.answers.running.export.targets.clouds import dstack, one_service, skypilot, terraform
from optimizer.answers.running.export.targets.kubernetes import kubernetes
from optimizer.answers.running.export.targets.others import compose, ray_serve
from optimizer.answers.running.export.targets.scripts import script_of
from optimizer.answers.running.export.targets.serving_platforms import dynamo, kserve, llmd
from optimizer.inputs.catalog.entries.deploying import DeployFacts


@dataclass(frozen=True)
class Target:
    """A tool that deploys.

    Attributes:
        write: From deployments, one unless `together` joins some, to files by name; raises CannotCarry.
        file: The one to start from.
        use: What to run in a deployment's folder; `{name}` stands for the deployment.
        before: What has to be there first.
        validated: What its files are held against; empty where nothing is, which makes it experimental.
        together: Deployments for which it gives the same are written as one; None joins none.
    """

    write: Callable[[Sequence[Run], DeployFacts], Mapping[str, str]]
    file: str
    use: str
    before: str
    validated: str = ""
    together: Callable[[Run], Hashable] | None = None


TOKEN: Final = "the environment variable HF_TOKEN where the model is gated"
SECRET: Final = "`kubectl create secret generic hf-token --from-literal=HF_TOKEN=$HF_TOKEN`"

TARGETS: Final[Mapping[str, Target]] = {
    "vllm": Target(
        script_of("vllm"), "vllm.sh", "bash vllm.sh", f"the machines, vLLM on them, and {TOKEN}", "the release's flags"
    ),
    "sglang": Target(
        script_of("sglang"),
        "sglang.sh",
        "bash sglang.sh",
        f"the machines, SGLang on them, and {TOKEN}",
        "the release's flags",
    ),
    "trtllm": Target(
        script_of("tensorrt-llm"),
        "trtllm.sh",
        "bash trtllm.sh",
        f"the machines, TensorRT-LLM on them, and {TOKEN}",
    ),
    "kubernetes": Target(
        kubernetes,
        "kubernetes.yaml",
        "kubectl apply -f kubernetes.yaml",
        f"a cluster with the planned nodes in each region, and {SECRET}",
        "the schemas of Kubernetes 1.37",
    ),
    "kserve": Target(
        kserve,
        "kserve.yaml",
        "kubectl apply -f kserve.yaml",
        f"a cluster with the planned nodes and KServe in each region, and {SECRET}",
        "KServe's own definition of the resource, at aaac4e29",
    ),
    "llm-d": Target(
        llmd,
        "llm-d-values.yaml",
        "helm install {name} llm-d-modelservice/llm-d-modelservice --version v0.4.12 -f llm-d-values.yaml",
        f"a cluster with the planned nodes and a gateway in each region, the chart's repository, and {SECRET}",
        "the schema of chart v0.4.12",
    ),
    "skypilot": Target(
        skypilot,
        "skypilot.yaml",
        "sky serve up -n {name} --secret HF_TOKEN skypilot.yaml",
        "SkyPilot 0.14 with the clouds enabled (`sky check`)",
        "the parser of SkyPilot 0.14.1",
        together=one_service,
    ),
    "dstack": Target(
        dstack,
        "dstack.yml",
        "dstack apply -f dstack.yml",
        f"a dstack project with a fleet on the backends, and {TOKEN}",
        "the parser of dstack 0.22.5",
    ),
    "ray-serve": Target(ray_serve, "ray-serve.yaml", "serve deploy ray-serve.yaml", "a Ray cluster on the machines"),
    "dynamo": Target(
        dynamo,
        "dynamo.yaml",
        "kubectl apply -f dynamo.yaml",
        "a cluster with the planned nodes and the Dynamo platform in each region, and a secret hf-token-secret",
    ),
    "terraform": Target(
        terraform, "plan.auto.tfvars.json", "terraform apply", "a module of your own that takes these variables"
    ),
    "compose": Target(
        compose,
        "compose.yaml",
        "docker compose up -d",
        f"the machines with Docker and the NVIDIA container toolkit, and {TOKEN}",
        "the schema of the Compose specification, at 170098b",
    ),
}
"""By the name that `--to` takes."""
