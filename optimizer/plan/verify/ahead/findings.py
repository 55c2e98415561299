"""Rules held against an answer, each with what speaks for its verdict."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias, TypeVar

from optimizer.plan.record.horizon import HorizonCheck
from optimizer.plan.record.risk import RiskCheck

Finding: TypeAlias = tuple[bool, str]
"""Whether something holds, and the words for it."""
Rules: TypeAlias = Mapping[str, Callable[[], Iterator[Finding]]]
AnyCheck = TypeVar("AnyCheck", HorizonCheck, RiskCheck)


def checked(as_check: type[AnyCheck], rules: Rules) -> list[AnyCheck]:
    """What each rule found; the first finding that fails speaks for it."""
    checks = []
    for name, rule in rules.items():
        findings = list(rule())
        failed = [text for passed, text in findings if not passed]
        text = failed[0] if failed else f"{len(findings):,} held"
        checks.append(as_check(name=name, passed=not failed, text=text))
    return checks
