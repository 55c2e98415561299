"""What is asked of an import of prices, and what became of them: rows taken in, and every other one with its reason."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Final

from optimizer.base.errors import Finding, InputError
from optimizer.base.model import Strict
from optimizer.base.signs import mixed_scripts, unseen
from optimizer.inputs.catalog.entries.sources import Source
from optimizer.inputs.catalog.entries.terms import Seller
from optimizer.inputs.catalog.kinds import Confidence, ProviderKind, SellerKind
from optimizer.inputs.catalog.loading import CatalogDate
from optimizer.inputs.catalog.records import Catalogs, Offer, ServerlessPrice


@dataclass(frozen=True)
class PriceListTerms:
    """What a price list does not say of itself and its reader knows.

    Attributes:
        source: Id of the source that the offers will name.
        as_of: The day of the prices.
        provider: Of lists without a column for it.
        provider_kind: Of providers that the catalog does not know, or knows as several kinds.
        seller: What kind of seller the providers are that the catalog does not know; plans leave unknown ones out.
        confidence: How sure the prices are.
        gpus: GPU ids by the name that the list uses, where the reader knows better than the catalog.
        models: Model ids by the name that a list of hosted APIs uses, likewise.
        title: What the source is; the file's name unless given.
        licence: Of the source.
    """

    source: str = ""
    as_of: date | None = None
    provider: str = ""
    provider_kind: ProviderKind | None = None
    seller: SellerKind = "unknown"
    confidence: Confidence = "listed"
    gpus: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    licence: str = "not stated"


OF_NEWEST: Final = "the day of the newest row"
NOTHING_MORE: Final = PriceListTerms()


@dataclass(frozen=True)
class LeftOutPrices:
    """Prices that were not taken in, for one reason.

    Attributes:
        reason: Why, in one clause.
        about: The GPU, provider, model or cell concerned, as the file writes it.
        rows: How many.
        first_line: Where the first of them stands; 0 in a file that is no table.
        hint: How to take them in; empty where nothing helps.
    """

    reason: str
    about: str
    rows: int
    first_line: int
    hint: str = ""

    @property
    def place(self) -> str:
        """The first line, where there are lines."""
        return str(self.first_line or "")


@dataclass(frozen=True)
class ImportedPrices:
    """A price list as rows of ours.

    Attributes:
        format_name: What the file was read as.
        prices: Prices that the file holds.
        offers: Of GPUs, sorted by id, ready for an overlay.
        apis: Of hosted APIs, sorted by provider and name, likewise; a list holds the one or the other.
        sources: Those of the rows that the catalogs do not have yet, each dated by the newest of its prices.
        sellers: Providers of offers of which the catalogs do not say what kind of seller they are.
        merged: Prices that were joined with another of the same thing: the same region's zones or hosts.
        left_out: What was not taken in, most frequent first.
        remarks: What was read in another way than it is written, and for how many prices; most frequent first.
        day: Of the newest price, where it is newer than the catalogs: ages are then measured from it.
    """

    format_name: str
    prices: int
    sources: tuple[Source, ...]
    merged: int
    left_out: tuple[LeftOutPrices, ...]
    remarks: tuple[tuple[str, int], ...]
    day: CatalogDate | None
    offers: tuple[Offer, ...] = ()
    apis: tuple[ServerlessPrice, ...] = ()
    sellers: tuple[Seller, ...] = ()

    @property
    def tables(self) -> dict[str, tuple[Strict, ...]]:
        """What `write_overlay` writes."""
        day = (self.day,) if self.day else ()
        priced = {"offers": self.offers, "serverless": self.apis}
        tables = priced | {"sources": self.sources, "sellers": self.sellers, "catalog": day}
        return {name: rows for name, rows in tables.items() if rows}


class PriceRefused(Exception):
    """One listed price that cannot be taken in."""

    def __init__(self, reason: str, about: str, hint: str = "") -> None:
        self.reason = (reason, about, hint)
        super().__init__(reason)


def check_names(*names: str) -> None:
    """That each can be read by eye as what it is: nothing unseen in it, no letters of two scripts that look alike.

    Raises:
        PriceRefused: one deceives.
    """
    for name in names:
        if problem := unseen(name):
            raise PriceRefused(f"its name {problem}", name)
        if scripts := mixed_scripts(name):
            raise PriceRefused(f"its name mixes {scripts} letters, which look alike", name)


def left_out_prices(refused: Mapping[tuple[str, str, str], Sequence[int]]) -> tuple[LeftOutPrices, ...]:
    """Refusals as a list, most frequent first, given the lines of each reason."""
    items = (
        LeftOutPrices(reason, about, len(lines), min(lines), hint) for (reason, about, hint), lines in refused.items()
    )
    return tuple(sorted(items, key=lambda item: (-item.rows, item.reason, item.about)))


def refuse_nothing(file: Path, imported: ImportedPrices) -> None:
    """A list of which nothing can be taken in is bad input.

    Raises:
        InputError: no price was taken in, with every reason.
    """
    if not imported.offers and not imported.apis:
        raise InputError(
            Finding(
                str(file),
                item.first_line,
                item.about,
                f"{item.reason} ({item.rows:,} {'price' if item.rows == 1 else 'prices'})",
                item.hint,
            )
            for item in imported.left_out
        )


def new_sources(
    rows: Iterable[Offer | ServerlessPrice], catalogs: Catalogs, terms: PriceListTerms, path: Path
) -> tuple[Source, ...]:
    """A row for each source that the catalogs do not have."""
    newest: dict[str, date] = {}
    for row in rows:
        newest[row.source] = max(row.as_of, newest.get(row.source, row.as_of))
    return tuple(
        Source(id=name, title=terms.title or path.name, licence=terms.licence, as_of=day)
        for name, day in sorted(newest.items())
        if name not in catalogs.sources
    )


def newer_day(rows: Iterable[Offer | ServerlessPrice], catalogs: Catalogs) -> CatalogDate | None:
    """The day of the newest row, where it is after that of the catalogs."""
    newest = max((row.as_of for row in rows), default=catalogs.as_of)
    return CatalogDate(as_of=newest, note=OF_NEWEST) if newest > catalogs.as_of else None
