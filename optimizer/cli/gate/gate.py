"""`optimizer gate`: a verdict for a pipeline, with the forms that pipelines read."""

from pathlib import Path

import typer

from optimizer.base.errors import Finding, InputError
from optimizer.cli import calls
from optimizer.cli.gate import options as asked
from optimizer.cli.gate.outputs import Outputs
from optimizer.cli.options import (
    CatalogsOption,
    Format,
    FormatOption,
    OutputOption,
    QuietOption,
    watched,
)
from optimizer.cli.scenarios import loaded

WORK_LIMIT = 200_000
"""Where a plan is not proven by then it is cut short, with the same verdict on every machine; about a minute."""


def gate(
    scenarios: asked.Scenarios,
    baseline: asked.Baselines = None,
    max_monthly_usd: asked.MaxMonthlyUsd = None,
    max_increase_percent: asked.MaxIncrease = None,
    max_increase_usd: asked.MaxIncrease = None,
    rules: asked.RulesFile = None,
    max_price_age_days: asked.MaxPriceAgeDays = None,
    today: asked.AsOf = None,
    pin: asked.PinnedTo = None,
    allow_drift: asked.AllowDrift = False,
    baseline_catalogs: asked.BaselineCatalogs = None,
    warn_only: asked.WarnOnly = None,
    allow_missing_price: asked.AllowMissingPrice = None,
    allow_expired: asked.AllowExpired = None,
    not_evaluated: asked.NotEvaluated = None,
    junit: asked.JunitFile = None,
    sarif: asked.SarifFile = None,
    comment: asked.CommentFile = None,
    history: asked.HistoryFile = None,
    run_url: asked.RunUrl = "",
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: asked.TimeLimitS = None,
    work_limit: asked.WorkLimit = WORK_LIMIT,
    quiet: QuietOption = False,
) -> None:
    """Whether budgets hold and prices are sound, what changed, and why; exit code 1 when the gate is broken."""
    named = (*scenarios, *(baseline or ()), rules, catalogs, pin, baseline_catalogs)
    inputs = [Path(name) for name in named if name is not None]
    outputs = Outputs(
        inputs,
        junit,
        sarif,
        comment,
        history=history,
        answer=output,
        answer_format=output_format,
        day="" if today is None else str(today.date()),
        run_url=run_url,
    )
    with outputs.at_every_end():
        if not_evaluated is not None:
            raise InputError([Finding("gate", 0, "", not_evaluated)])
        known = calls.load_catalogs(catalogs)
        files = loaded(scenarios, known)
        limits = calls.GateLimits(
            max_monthly_usd=max_monthly_usd,
            max_increase_percent=max_increase_percent,
            max_increase_usd=max_increase_usd,
            max_price_age_days=max_price_age_days,
            today=None if today is None else today.date(),
            warn_only=tuple(warn_only or ()),
            allow_missing_price=tuple(allow_missing_price or ()),
            allow_expired=tuple(allow_expired or ()),
            guardrails=None if rules is None else calls.read_guardrails(rules),
        )
        baselines = None if baseline is None else calls.read_baselines(baseline)
        outputs.check()
        held_to = None if pin is None else calls.pinned(pin, catalogs, allow_drift=allow_drift)
        with watched([file.scenario.name for file in files], quiet) as progress:
            report = calls.gate(
                files,
                known,
                limits,
                baselines,
                old_catalogs=_catalogs_of_before(baseline_catalogs),
                pin=held_to,
                time_limit_s=time_limit_s,
                work_limit=work_limit,
                progress=progress,
            )
        outputs.deliver(report)
    raise typer.Exit(calls.exit_of(report))


def _catalogs_of_before(name: str | None) -> "calls.Catalogs | None":
    """Those that the baselines were made on, where they are named."""
    if name is None:
        return None
    return calls.load_catalogs(None if name == calls.SHIPPED_NAME else Path(name))
