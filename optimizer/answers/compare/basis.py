"""What every row of a comparison rests on: demand, limits and policy as asked, the catalogs, the sources of prices."""

from collections.abc import Iterable, Iterator

from optimizer.answers.compare.rows import volume_of
from optimizer.answers.compare.types import Assumption, SourceOfPrices
from optimizer.base.figures import figure
from optimizer.inputs.catalog.entries.sources import Source
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.periods import Periods
from optimizer.plan.record.origin import asked, fields_of, inputs_of

SHOWN_CHARACTERS = 500
"""Of a value: a week of hours in full, of a trace its beginning."""
SAYS_NOTHING = ("null", "[]", "{}", '""')


def assumptions(scenario: Scenario, catalogs: Catalogs, week: Periods) -> list[Assumption]:
    """Everything assumed: the scenario's fields, defaults of the policy included, the volume, catalogs and program.

    Args:
        scenario: As planned.
        catalogs: What is known.
        week: The periods of the plan in the first row.
    """
    return [*_asked(scenario), *_demand(scenario, week), *_known(scenario, catalogs)]


def _asked(scenario: Scenario) -> Iterator[Assumption]:
    stated = dict(fields_of(asked(scenario)))
    policy = {"policy": scenario.policy.model_dump(mode="json", exclude_none=True)}
    for name, value in {**stated, **dict(fields_of(policy))}.items():
        if value not in SAYS_NOTHING:
            shown = value if len(value) <= SHOWN_CHARACTERS else f"{value[:SHOWN_CHARACTERS]}…"
            of_policy = name.startswith("policy.")
            yield Assumption(about="policy" if of_policy else "demand", name=name, value=shown, stated=name in stated)


def _demand(scenario: Scenario, week: Periods) -> Iterator[Assumption]:
    volume = volume_of(scenario)
    amounts = {
        "requests a month": volume.requests,
        "prompt tokens a month": volume.input_tokens,
        "answer tokens a month": volume.output_tokens,
    }
    for name, amount in amounts.items():
        yield Assumption(about="demand", name=name, value=figure(float(amount)), stated=False)
    yield Assumption(about="demand", name="hours of the week", value=rounding(week), stated=False)


def rounding(week: Periods) -> str:
    """How the hours of the week were planned for, and what rounding them up added."""
    if week.count == 1:
        return "planned at the peak all week"
    added = float(week.added_share.max())
    told = f"planned in {week.count} periods of hours alike"
    return f"{told}, each at its busiest hour: up to {added:.1%} more requests than asked" if added else told


def _known(scenario: Scenario, catalogs: Catalogs) -> Iterator[Assumption]:
    made = inputs_of(scenario, catalogs)
    hashes = {
        "prices, SHA-256": made.prices_sha256,
        "catalog, SHA-256": made.catalog_sha256,
        "calibration, SHA-256": made.calibration_sha256,
    }
    for name, value in {"as of": str(catalogs.as_of), **hashes}.items():
        yield Assumption(about="catalogs", name=name, value=value, stated=False)
    yield Assumption(about="program", name="version", value=made.program, stated=False)
    yield Assumption(about="program", name="scenario, SHA-256", value=made.scenario_sha256, stated=False)


def sources_of(catalogs: Catalogs, titles: Iterable[str]) -> list[SourceOfPrices]:
    """The sources of that many lines, each once, by title; private ones stand together and say no more."""
    wanted = set(titles)
    found: dict[str, Source] = {}
    for source in catalogs.sources.values():
        if source.cited in wanted:
            found.setdefault(source.cited, source)
    return [
        SourceOfPrices(title=title, licence=source.licence, as_of=source.as_of, url=source.url)
        for title, source in sorted(found.items())
    ]
