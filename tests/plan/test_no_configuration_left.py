"""A question that no configuration answers is formulated all the same, wherever its users are."""

from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Inquiry


def test_users_somewhere_and_a_limit_that_nothing_keeps(catalogs: Catalogs) -> None:
    """Whole configurations are compared at every distance; of none there was no width to give their rates."""
    chat = {"name": "chat", "model": "llama-3.1-8b", "requests_per_second": 1, "input_tokens": 100, "output_tokens": 10}
    asked = {
        "name": "voice",
        "workloads": [chat | {"users_in": ["us-east"], "slo": {"tpot_ms": 0.01}}],
        "policy": {"gpus": {"allow": ["l40s"]}, "regions": {"allow": ["us-east-1"]}, "max_distinct_configurations": 1},
    }
    assert not Inquiry.of(Scenario.model_validate(asked), catalogs).formulated(counts=True).columns
