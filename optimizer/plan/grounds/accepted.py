"""What the plan rests on although the scenario avoids it, since no plan does without, and what to do about it first."""

from collections.abc import Iterator

from optimizer.inputs.requirements.avoided import SPEED, avoided, quality_of
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.explanation import Benchmark
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.report import Accepted


def accepted_of(inquiry: Inquiry, bought: PlannedFleet, benchmark: Benchmark | None) -> Iterator[Accepted]:
    """Each field that was accepted, with what it is about.

    Args:
        inquiry: The question, as it was decided.
        bought: The plan; empty where there is none.
        benchmark: What to measure first.
    """
    # the fields that avoid what may serve here all the same
    accepted = [field for field in avoided(inquiry.scenario) if field not in inquiry.avoided]
    if SPEED in accepted:
        yield Accepted(field=SPEED, text=_speed(bought, benchmark))
    names = {quality_of(workload): workload.name for workload in inquiry.scenario.workloads}
    for field in accepted:
        if field in names:
            yield Accepted(field=field, text=_quality(names[field], bought))


def _speed(bought: PlannedFleet, benchmark: Benchmark | None) -> str:
    notes = [d.provenance.performance_note for d in bought.deployments if d.provenance.performance == "estimated"]
    if not notes or benchmark is None:
        return "no plan on estimated speeds, either"
    return f"No plan rests on measured speeds alone: {'; '.join(dict.fromkeys(notes))}. Measure first: {benchmark.text}"


def _quality(workload: str, bought: PlannedFleet) -> str:
    unknown = [d.precision for d in bought.deployments if d.workload == workload and d.quality is None]
    if not unknown:
        return f"{workload}: no plan with weights whose quality nobody published, either"
    which = ", ".join(dict.fromkeys(unknown))
    return (
        f"{workload}: no plan does without weights whose quality nobody published ({which}); "
        "evaluate them on your own task first"
    )
