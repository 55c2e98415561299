"""Which promises and figures of a plan file hold, broken ones first."""

from optimizer.plan.record.report import Verification
from optimizer.report.layout.elements import Section, Table, WrittenAnswer


def verification_answer(found: Verification) -> WrittenAnswer:
    """One row a check; what is broken stands above the table, too."""
    broken = [check for check in found.checks if not check.passed]
    count = f"{len(found.checks) - len(broken)} of {len(found.checks)} checks hold"
    summary = f"The plan keeps its promises: {count}." if found.passed else f"The plan breaks its promises: {count}."
    rows = tuple((check.name, "holds" if check.passed else "broken", check.text) for check in found.checks)
    sections = (
        Section("What is broken", tuple(f"{check.name}: {check.text}" for check in broken)),
        Section("Checks", table=Table(("check", "verdict", "what was computed"), rows)),
    )
    return WrittenAnswer(
        tuple(section for section in sections if section.lines or section.table.rows), summary, "Verification"
    )
