"""Every requirement that a scenario may state, and every field that states none, with the reason."""

from collections.abc import Mapping
from typing import Final

from optimizer.inputs.requirements.declaration import Requirement
from optimizer.inputs.requirements.of_offers import KINDS_OF_OFFERS, LAYOUTS, LISTS
from optimizer.inputs.requirements.of_policy import LIMITS_OF_THE_FLEET, PROMISES
from optimizer.inputs.requirements.of_workloads import OF_WORKLOADS

REQUIREMENTS: Final = (*OF_WORKLOADS, *LIMITS_OF_THE_FLEET, *LISTS, *LAYOUTS, *PROMISES, *KINDS_OF_OFFERS)
BY_NAME: Final[Mapping[str, Requirement]] = {item.name: item for item in REQUIREMENTS}

NOT_A_REQUIREMENT: Final[Mapping[str, str]] = {
    "name": "what the scenario is called",
    "description": "for people",
    "lifecycle": "read by `optimizer lifecycle` and `optimizer horizon` alone",
    "risk": "read by `optimizer risk` alone",
    "workloads[].name": "what the workload is called",
    "workloads[].model": "what is asked for; other models are offered by `alternatives`",
    "workloads[].alternatives": "widens what may serve",
    "workloads[].input_tokens": "the shape of the demand",
    "workloads[].output_tokens": "the shape of the demand",
    "workloads[].request_classes": "the shape of the demand",
    "workloads[].lengths": "the shape of the demand",
    "workloads[].trace": "the shape of the demand",
    "workloads[].arrivals": "a fact about the traffic, counted in what replicas sustain",
    "workloads[].users": "the demand in other words, read into the rate when the scenario is loaded",
    "workloads[].requests_per_user_hour": "the demand in other words, as `users`",
    "workloads[].tokens_per_day": "the demand in other words, as `users`",
    "workloads[].deadline": "the demand in other words, as `users`: when a batch is worked on",
    "workloads[].stated_as": "the demand in words, for people",
    "workloads[].reasoning": "the shape of the demand: longer answers",
    "workloads[].speculation": "what replicas may run with; nobody is forced to",
    "workloads[].lora_adapters": "one is part of the weights, several are refused",
    "workloads[].cached_input_share": "a fact about the prompts",
    "workloads[].users_in": "a fact about the users, counted in the latency limits",
    "workloads[].network_ms": "a fact about the network, counted in the latency limits",
    "workloads[].slo.ttft_overhead_ms": "a fact about the stages before the model, counted in the latency limits",
    "policy.flag_price_age_days": "a warning, which no plan fails",
    "policy.simplicity_percent": "chooses among plans that keep every requirement",
    "policy.simplicity_usd_per_configuration": "chooses among plans that keep every requirement",
    "policy.router": "a fact about what stands before the replicas, counted in what they sustain",
    "policy.grid": "a fact about the electricity, read under a limit on carbon",
    "policy.spot": "a fact about how often spot instances are taken back",
    "policy.elastic.max_periods": "how finely the first plan of a week tells hours apart",
    "policy.per_second": "a fact about how containers paid by the second are set up",
    "policy.migration.from_plan": "a fact: what runs today",
    "policy.migration.in_force": "a fact: what runs today",
}
"""Every other field of the scenario, and why it asks nothing of a plan."""
