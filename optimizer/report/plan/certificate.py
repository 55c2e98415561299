"""What a plan's certificate proves, in words below the plan."""

from dataclasses import replace

from optimizer.base.clock import Limit
from optimizer.plan.certify.certificate import Certificate
from optimizer.report.layout.elements import Section, WrittenAnswer


def with_certificate(
    answer: WrittenAnswer, found: Certificate | None, file: str, ended_by: Limit | None
) -> WrittenAnswer:
    """The answer with one section more, which names the limit that the proof was ended by, if one was."""
    return replace(answer, sections=(*answer.sections, Section("Certificate", tuple(_lines(found, file, ended_by)))))


def _lines(found: Certificate | None, file: str, ended_by: Limit | None) -> list[str]:
    if found is None:
        why = f"the {ended_by} was reached before it" if ended_by else "there is no proof to write down"
        return [f"Nothing is certified, and {file} was not written: {why}."]
    claim = (
        "There is no plan" if found.usd_per_month is None else f"No plan costs less than ${found.usd_per_month:,.2f}"
    )
    until = f" before the {ended_by} was reached" if ended_by else ""
    short = f" That is as much as could be certified{until}; the rest of the bound is the solver's word."
    short = "" if found.complete else short
    left_out = f" Not looked at, which can only lower it: {', '.join(found.left_out)}." if found.left_out else ""
    parts = "1 part" if found.leaves == 1 else f"{found.leaves} parts"
    return [
        f"{claim}: proven in {parts}, in exact fractions, and written to {file}.{short}{left_out}",
        f"optimizer verify PLAN.json --certificate {file} checks it without a solver.",
    ]
