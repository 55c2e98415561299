"""What `optimizer replan` says of a plan of yesterday, in a sentence, and of all of them."""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

from optimizer.answers.gate.types import Removed
from optimizer.answers.many.replan.types import Advice, Replanned
from optimizer.base.figures import figure
from optimizer.plan.explain.simplicity import rounded_up_percent


def sentence(told: Replanned, usd: Decimal | None, *, holds: bool) -> str:
    """What to do and why, in a sentence.

    Args:
        told: The figures.
        usd: A month of what is shown, a part of what changing costs once included.
        holds: Whether simulated requests were seen to break no promise of it.
    """
    changed = f"{told.replicas_changed} {'replica' if told.replicas_changed == 1 else 'replicas'} to start or stop"
    once = f"{changed}, {_usd(told.one_time_usd)} once"
    if told.advice == "move":
        back = f", back in {_months(told.pays_back_months)}" if told.pays_back_months else ""
        return f"move: {_usd(told.after_usd)} instead of {_usd(told.stay_usd)} a month; {once}{back}"
    moved = any(change.sign in ("+", "-") for change in told.deployments)
    free = "; what moves freely stands below" if moved else ""
    words = {
        "stay": f"stay: nothing saves enough over {_usd(told.stay_usd)} a month{free}",
        "must_move": f"what runs cannot stay; the best against it is {_usd(told.after_usd)} a month; {once}",
        "new": f"nothing runs yet: {_usd(told.after_usd)} a month",
        "no_plan": "no plan meets the scenario today; `optimizer plan` says why and what would",
        "undecided": f"a limit was reached before it was known; {_best_by_then(told, usd, holds)}",
    }
    return words[told.advice]


def _best_by_then(told: Replanned, usd: Decimal | None, holds: bool) -> str:
    """What was found before the limit, how far it may be above the cheapest, and whether it is known to hold."""
    if usd is None:
        return "no plan was found by then"
    stays = holds and told.after_usd == told.stay_usd
    shown = "what runs may stay" if stays else "what is shown is the best found by then"
    doubt = "" if holds else "; whether it keeps its promises when requests arrive one by one is not known"
    if not told.bound_usd:
        return f"{shown}, how far above the cheapest is not known{doubt}"
    percent = rounded_up_percent(float(usd / told.bound_usd - 1) * 100)
    return f"{shown}, at most {percent} % above the cheapest{doubt}"


def _months(count: float) -> str:
    shown = figure(count)
    return f"{shown} {'month' if shown == '1' else 'months'}"


def _usd(amount: Decimal | None) -> str:
    return "—" if amount is None else f"${amount:,.2f}"


def summary_of(found: Sequence[Replanned], removed: Sequence[Removed], saves: Decimal) -> str:
    """How many of each, and what moving saves."""
    words: dict[Advice, str] = {
        "move": "worth moving",
        "must_move": "to be moved",
        "new": "new",
        "no_plan": "without a plan",
        "undecided": "undecided",
        "stay": "to leave as they are",
    }
    counts = Counter(each.advice for each in found)
    parts = [f"{counts[advice]} {said}" for advice, said in words.items() if counts[advice]]
    parts += [f"{len(removed)} removed"] if removed else []
    saved = f"; moving saves {_usd(saves)} a month" if saves else ""
    odd = "; have an odd price confirmed first" if any(each.warnings for each in found) else ""
    return f"{len(found)} {'scenario' if len(found) == 1 else 'scenarios'}: {', '.join(parts)}{saved}{odd}."
