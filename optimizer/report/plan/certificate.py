"""What a plan's certificate proves, in words below the plan."""

from dataclasses import replace

from optimizer.plan.certify.certificate import Certificate
from optimizer.report.layout.elements import Section, WrittenAnswer


def with_certificate(answer: WrittenAnswer, found: Certificate | None, file: str) -> WrittenAnswer:
    """The answer with one section more."""
    return replace(answer, sections=(*answer.sections, Section("Certificate", tuple(_lines(found, file)))))


def _lines(found: Certificate | None, file: str) -> list[str]:
    if found is None:
        return [f"Nothing is certified, and {file} was not written: there is no proof to write down."]
    claim = (
        "There is no plan" if found.usd_per_month is None else f"No plan costs less than ${found.usd_per_month:,.2f}"
    )
    short = (
        "" if found.complete else " That is as much as could be certified; the rest of the bound is the solver's word."
    )
    left_out = f" Not looked at, which can only lower it: {', '.join(found.left_out)}." if found.left_out else ""
    parts = "1 part" if found.leaves == 1 else f"{found.leaves} parts"
    return [
        f"{claim}: proven in {parts}, in exact fractions, and written to {file}.{short}{left_out}",
        f"optimizer verify PLAN.json --certificate {file} checks it without a solver.",
    ]
