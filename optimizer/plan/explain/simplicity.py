"""How simple a plan is, what the cheapest one would save, and what it would take."""

from decimal import ROUND_CEILING, Decimal
from typing import Final

from optimizer.inputs.catalog.entries.terms import Terms
from optimizer.plan.question.inquiry import Answer
from optimizer.plan.readback.outline import outlined
from optimizer.plan.readback.summary import summarized
from optimizer.plan.record.fleet import Outline, Placement
from optimizer.plan.record.report import Patchwork, Simplicity

TENTH: Final = Decimal("0.1")


NOT_SEEN_TO_HOLD: Final = ", and was not seen to keep every promise when requests arrive one by one"


def simplicity_of(answer: Answer, bought: Outline, *, cheapest_holds: bool | None = None) -> Simplicity:
    """The facts of a plan, with those of the cheapest where that is another.

    Args:
        answer: The question, solved.
        bought: Its plan.
        cheapest_holds: Whether few simulated requests say that the cheapest keeps every promise; None where nobody
            looked.
    """
    cheapest, text = None, ""
    terms = answer.inquiry.market.catalogs.terms
    own = _counts(bought, terms)
    if answer.cheapest is not None:
        other = outlined(answer.cheapest)
        cheapest = _patchwork(other, terms)
        saved_usd, drafts = bought.monthly_cost_usd - other.monthly_cost_usd, cheapest.drafts and not _drafts(bought)
        doubt = NOT_SEEN_TO_HOLD if cheapest_holds is False else ""
        text = f"{_saving(cheapest, saved_usd, own, answer, drafts=drafts)}{doubt}: {cheapest.summary}"
    least_usd = cheapest.monthly_cost_usd if cheapest else bought.monthly_cost_usd
    premium_usd = bought.monthly_cost_usd - least_usd
    return Simplicity(
        percent=answer.inquiry.scenario.policy.simplicity_percent,
        premium_usd=premium_usd,
        premium_percent=float(premium_usd / least_usd * 100) if least_usd else 0.0,
        proven=answer.simplicity_proven,
        kept=answer.kept,
        enough=answer.enough,
        **own,
        cheapest=cheapest,
        cheapest_holds=cheapest_holds,
        text=text,
    )


def rounded_up_percent(percent: float) -> Decimal:
    """In tenths of a percent, never less than it is."""
    return Decimal(repr(percent)).quantize(TENTH, ROUND_CEILING)


def _drafts(plan: Outline) -> bool:
    """Whether steps of any replica verify drafts."""
    return any(d.speculation for d in plan.deployments)


def _patchwork(plan: Outline, terms: Terms) -> Patchwork:
    drafts, summary = _drafts(plan), summarized(plan)
    return Patchwork(monthly_cost_usd=plan.monthly_cost_usd, **_counts(plan, terms), drafts=drafts, summary=summary)


def _counts(plan: Outline, terms: Terms) -> dict[str, int]:
    """What there is to operate, by name of the field; whoever runs machines and APIs is one provider by any name."""
    providers = [*(d.provider for d in plan.deployments), *(api.provider for api in plan.hosted)]
    running = zip(*([entry.instances for entry in bill.schedule] for bill in plan.purchases), strict=True)
    return {
        "configurations": len({_setup(d) for d in plan.deployments}),
        "providers": len({terms.run_by(name) for name in providers}),
        "regions": len({(terms.run_by(d.provider), d.region) for d in plan.deployments}),
        "instances": max(map(sum, running), default=0),
    }


def _setup(d: Placement) -> tuple[str | int, ...]:
    """What is distinct to run."""
    layout = (d.tensor_parallel, d.pipeline_parallel)
    return (d.workload, d.model, d.gpu, d.engine, d.precision, d.kv_precision, d.speculation, *layout)


def _saving(cheapest: Patchwork, saved_usd: Decimal, own: dict[str, int], answer: Answer, *, drafts: bool) -> str:
    """What would be saved, by how much more there is to operate; what is as simple or simpler goes without saying."""
    takes = [
        f"{count:,} {name if count != 1 else name.removesuffix('s')}"
        for name in own
        for count in (getattr(cheapest, name),)
        if count > own[name]
    ]
    takes = ["changing what runs"] if answer.kept else ["drafts", *takes] if drafts else takes
    found = " that was found" if answer.enough else ""
    return f"The cheapest{found} costs ${saved_usd:,.2f} less but takes {_listed(takes)}"


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
