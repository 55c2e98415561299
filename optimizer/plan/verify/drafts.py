"""Speculative decoding in a plan, held against what the scenario admits and what its engines run."""

from optimizer.performance.physics.setup import Configuration
from optimizer.performance.uncertainty.evidence import not_measured
from optimizer.plan.record.containers import Containers
from optimizer.plan.record.fleet import Deployment
from optimizer.plan.verify.claim import Claim, Finding


def drafts_asked_for(claim: Claim, shown: Deployment | Containers) -> Finding:
    """The workload admits what is drafted for its model, its steps keep what they are said to, the engine runs it."""
    said = f"{shown.workload}: drafts {shown.speculation or 'nothing'}, {shown.accepted_tokens or 1} tokens kept a step"
    if not shown.speculation:
        return shown.accepted_tokens is None, said
    asked = claim.workloads[shown.workload]
    of_model = {asked.model: asked.speculation} | {item.model: item.speculation for item in asked.alternatives}
    kept = {f"{each.method}:{each.draft_tokens}": each.accepted_tokens for each in of_model.get(shown.model, ())}
    promised, told = kept.get(shown.speculation), shown.accepted_tokens
    engine = claim.catalogs.engines[shown.engine]
    able = shown.speculation.split(":")[0] in engine.drafts and shown.pipeline_parallel == 1
    same = promised is not None and told is not None and claim.same(promised, told)
    return able and same, said


def measured_as_asked(claim: Claim, workload: str, c: Configuration) -> Finding:
    """Somebody measured its like where estimates are rejected, and where they are avoided: but for a draft that the
    scenario names."""
    rejected = claim.policy.unmeasured_performance == "reject"
    avoided = "policy.unmeasured_performance" in claim.avoided
    missing = not_measured(claim.catalogs, c if rejected else c._replace(draft_tokens=0))
    return not missing or not (rejected or avoided), f"{workload}: somebody measured {', '.join(missing) or c.gpu}"
