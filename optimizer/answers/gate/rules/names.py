"""Names that a call gives and nothing has: a typo there would let through what it never meant, or nothing at all."""

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

from optimizer.answers.gate.baseline import Baseline, paired
from optimizer.answers.gate.rules.demands import GateLimits
from optimizer.answers.gate.rules.guardrails import matching
from optimizer.answers.gate.rules.judging import unmatched
from optimizer.answers.gate.rules.price_ages import hosted_names
from optimizer.answers.gate.types import RULES, Rule
from optimizer.base.errors import Finding, did_you_mean, refuse
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.loading import ScenarioFile

TOGETHER: Final[tuple[Rule, ...]] = ("max_monthly_usd", "max_increase_percent", "max_increase_usd", "not_evaluated")
"""Rules about all scenarios together, unless a guardrail sets them for each."""


def refuse_unknown_names(
    limits: GateLimits, files: Sequence[ScenarioFile], catalogs: Catalogs, baselines: Sequence[Baseline]
) -> None:
    """Holds every name and pattern of the limits against what there is, today or in a baseline.

    Raises:
        InputError: one matches nothing; all of them at once, each with what is near.
    """
    before = [baseline.plan for baseline in baselines]
    today = [file.scenario.name for file in files]
    claimed, orphans = paired(today, baselines)
    removed = [baseline.plan.scenario for baseline in orphans]
    scenarios, new = [*today, *removed], [name for name in today if name not in claimed]
    guardrails = limits.guardrails
    rules = [*RULES, *(rule.name for rule in (guardrails.rules if guardrails else ()))]
    offers = {offer.id for offer in catalogs.offers} | {paid.offer for plan in before for paid in plan.purchases}
    apis = hosted_names(catalogs) | {sent.name for plan in before for sent in plan.hosted}
    priced = sorted({*(each.split("/")[0] for each in (*offers, *apis)), *offers, *apis})
    findings = [
        *_unknown_warnings(limits, rules, scenarios),
        *_unknown("--allow-missing-price", limits.allow_missing_price, priced, "offer or provider"),
        *_unknown("--allow-expired", limits.allow_expired, priced, "offer or provider"),
        *(unmatched(guardrails, today, removed, new) if guardrails else ()),
    ]
    refuse(findings)


def _unknown_warnings(limits: GateLimits, rules: list[str], scenarios: list[str]) -> Iterator[Finding]:
    """Patterns of `--warn-only` without effect; of a rule of one scenario, those that are judged for it by itself."""
    of_one = {scenario: list(_rules_of(limits, scenario)) for scenario in scenarios}
    both = [f"{scenario}:{rule}" for scenario, judged in of_one.items() for rule in judged]
    for pattern in limits.warn_only:
        scenario, _, rule = pattern.partition(":")
        judged = [each for name in matching((scenario,), scenarios) for each in of_one[name]]
        if judged and rule and matching((rule,), rules) and not matching((pattern,), both):
            hint = f"rules of one scenario: {', '.join(dict.fromkeys(judged))}; others are named alone"
            problem = f"'{pattern}': {rule} is judged for scenarios together"
            yield Finding("gate", 0, "--warn-only", problem, hint)
        else:
            yield from _unknown("--warn-only", [pattern], [*rules, *scenarios, *both], "rule or scenario")


def _rules_of(limits: GateLimits, scenario: str) -> Iterator[str]:
    """The rules that are judged for a scenario by itself."""
    yield from (rule for rule in RULES if rule not in TOGETHER)
    guardrails = limits.guardrails
    for rule in guardrails.rules if guardrails else ():
        if guardrails and rule.over == "each" and matching(guardrails.patterns(rule), [scenario]):
            yield from (name for name in TOGETHER if getattr(rule, name, None) is not None)
            yield rule.name


def _unknown(option: str, patterns: Iterable[str], names: Sequence[str], what: str) -> Iterator[Finding]:
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            hint = did_you_mean(pattern, names) or f"give a name, or a pattern with *, of a known {what}"
            yield Finding("gate", 0, option, f"'{pattern}' matches no {what}", hint)
