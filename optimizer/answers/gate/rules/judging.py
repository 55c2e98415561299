"""Guardrails applied: each over the scenarios in its scope, yielding where an override of its own still holds."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date

from optimizer.answers.gate.rules.demands import Verdict, budgets
from optimizer.answers.gate.rules.guardrails import Guardrail, Guardrails, matching
from optimizer.answers.gate.rules.total import Total
from optimizer.base.errors import Finding, did_you_mean, some_of

TotalOf = Callable[[Sequence[str]], Total]
"""Before and after of some scenarios together, by their names."""


def unmatched(guardrails: Guardrails, today: list[str], removed: list[str], new: list[str]) -> Iterator[Finding]:
    """Patterns that match no scenario, today's or removed: a typo there would let everything through.

    Where a new scenario has no rule, those that match removed ones alone are told, too: it may have been renamed.
    """
    names, loose = [*today, *removed], uncovered(guardrails, new)
    for rule in guardrails.rules:
        for pattern in guardrails.patterns(rule):
            field = f"rules[{rule.name}]"
            if not matching((pattern,), names):
                hint = did_you_mean(pattern, names) or f"scenarios: {some_of(sorted(names), 8)}"
                yield Finding("--rules", 0, field, f"'{pattern}' matches no scenario", hint)
            elif loose and not matching((pattern,), today):
                problem = f"'{pattern}' matches removed scenarios only, and no rule is about {some_of(loose, 8)}"
                hint = "where that was renamed, rename it here, too; else give it a rule or take this pattern out"
                yield Finding("--rules", 0, field, problem, hint)


def uncovered(guardrails: Guardrails, names: list[str]) -> list[str]:
    """The scenarios that no rule is about."""
    covered = {name for rule in guardrails.rules for name in matching(guardrails.patterns(rule), names)}
    return [name for name in names if name not in covered]


def judged_by(guardrails: Guardrails, names: list[str], total_of: TotalOf, today: date) -> Iterator[Verdict]:
    """Every limit of every rule.

    Args:
        guardrails: As read.
        names: Of all scenarios, the removed ones included.
        total_of: What they cost.
        today: The day that overrides are held against.
    """
    for rule in guardrails.rules:
        scope = matching(guardrails.patterns(rule), names)
        for group in [scope] if rule.over == "together" else [[name] for name in scope]:
            total, scenario = total_of(group), group[0] if rule.over == "each" else None
            only = tuple(group) if len(group) < len(names) else ()
            for verdict in budgets(rule, total):
                yield _of(rule, replace(verdict, scenario=scenario, scope=only), today)


def _of(rule: Guardrail, verdict: Verdict, today: date) -> Verdict:
    """The verdict in the rule's name, with what to do where it is broken, and why it may be let through."""
    who = f"{rule.name} ({verdict.scenario})" if verdict.scenario else rule.name
    ask = "; ".join(filter(None, (rule.message, f"ask {rule.owner}" if rule.owner else "")))
    ended = rule.override is not None and rule.override.until < today
    notes = [ask] if ask and verdict.broken else []
    if rule.override is not None and ended and verdict.broken:
        notes.append(f"its override ended on {rule.override.until}")
    let_through = "warns only" if rule.effect == "warn" else ""
    if rule.override is not None and not ended:
        let_through = f"overridden until {rule.override.until}: {rule.override.reason}"
    text = ". ".join([f"{who}: {verdict.text}", *notes])
    return replace(verdict, guardrail=rule.name, text=text, let_through=let_through)
