"""The tool that needs no solve: what the catalogs hold, what they say of a name, and the shipped scenarios."""

from typing import Final

from pydantic import Field

from optimizer.base.errors import Exit, Finding, InputError
from optimizer.inputs.catalog.records import Catalogs
from optimizer.report.catalog.catalog import catalog_rows, listing_section, overview_section
from optimizer.report.catalog.content import entries_content, overview_content, rows_content
from optimizer.report.catalog.entry import catalog_entries
from optimizer.report.catalog.listings import LISTINGS
from optimizer.report.export import Content, rendered
from optimizer.report.layout.elements import Section, WrittenAnswer
from optimizer.serve.agents.excerpt import Excerpt, excerpt
from optimizer.serve.agents.tools import Reading
from optimizer.serve.jobs.question import OPTIONS
from optimizer.serve.jobs.scenario_text import shipped_scenarios

LIST_CATALOG: Final = "list_catalog"
ABOUT: Final = "What is known: the catalogs, the rows of one, all that is said about one name, the shipped scenarios."
SCENARIOS: Final = "scenarios"


class CatalogArguments(Reading):
    """What to list; nothing at all lists the catalogs."""

    catalog: str | None = Field(default=None, description=f"`{SCENARIOS}`, or one of: {', '.join(LISTINGS)}.")
    filter: str = Field(default="", description="A word or wildcard, held against the names of that catalog's rows.")
    name: str | None = Field(
        default=None,
        description="Instead: all about a GPU, model, engine, precision, provider or source, or a shipped scenario.",
    )


def list_catalog(catalogs: Catalogs, arguments: CatalogArguments) -> Excerpt:
    """What was asked about the catalogs.

    Raises:
        InputError: there is no such catalog or name.
    """
    if arguments.name is not None and arguments.catalog is not None:
        raise InputError([Finding(OPTIONS, 0, "name", "cannot stand beside catalog", "give either")])
    if arguments.name in (shipped := shipped_scenarios()):
        text = shipped[arguments.name]
        return excerpt(f"The shipped scenario {arguments.name}, as YAML.", Exit.ANSWERED, text, arguments)
    if arguments.catalog == SCENARIOS:
        summary = f"{len(shipped)} shipped scenarios; `plan` takes each by its name."
        return _written(summary, Section(SCENARIOS, tuple(shipped)), {SCENARIOS: list(shipped)}, arguments)
    if arguments.name is not None:
        return _entry(catalogs, arguments.name, arguments)
    if arguments.catalog is not None:
        rows = catalog_rows(catalogs, arguments.catalog, arguments.filter)
        section = listing_section(arguments.catalog, rows, 0)
        return _written(f"{section.title} rows.", section, rows_content(arguments.catalog, rows), arguments)
    summary = f"{len(LISTINGS)} catalogs as of {catalogs.as_of}; catalog=NAME lists the rows of one."
    return _written(summary, overview_section(catalogs), overview_content(catalogs), arguments)


def _entry(catalogs: Catalogs, name: str, reading: Reading) -> Excerpt:
    found = catalog_entries(catalogs, name)
    summary = f"{name} is the name of {' and '.join(f'a {each.kind}' for each in found)}."
    sections = tuple(section for entry in found for section in entry.sections)
    text = rendered(WrittenAnswer(sections), entries_content(found), reading.format)
    return excerpt(summary, Exit.ANSWERED, text, reading)


def _written(summary: str, section: Section, content: Content, reading: Reading) -> Excerpt:
    text = rendered(WrittenAnswer((section,)), content, reading.format)
    return excerpt(summary, Exit.ANSWERED, text, reading)
