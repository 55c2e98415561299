"""Tables declared as headings with templates: what a template may say, and that every listing names real fields."""

from dataclasses import dataclass
from decimal import Decimal

import pytest

from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.record.fields import significant
from optimizer.report.catalog.catalog import LISTINGS
from optimizer.report.layout.columns import filled, table_of


@dataclass(frozen=True)
class Price:
    """A record with a number, an unknown number, and a record of its own."""

    usd: Decimal = Decimal("1234.5")
    unknown_usd: Decimal | None = None
    parts: tuple[str, ...] = ("a", "b")
    inner: "Price | None" = None


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{usd:,.2f} USD", "1,234.50 USD"),
        ("{usd:money}", "$1,234.50"),
        ("{usd:change}", "+$1,234.50"),
        ("{unknown_usd:money}", ""),
        ("{unknown_usd:,.2f|no plan}", "no plan"),
        ("{usd:,.0f|no plan}", "1,234"),
        ("{parts:list}", "a b"),
        ("{inner.usd:price}", "1234.50"),
    ],
)
def test_templates_write_a_records_own_fields(template: str, text: str) -> None:
    assert filled(template, Price(inner=Price())) == text


def test_a_table_has_a_row_a_record_and_a_column_a_heading() -> None:
    table = table_of([Price(), Price(usd=Decimal(2))], {"what": lambda price: len(price.parts), ">$": "{usd:.2f}"})
    assert table.headings == ("what", ">$")
    assert table.columns == [("what", False), ("$", True)]
    assert table.rows == (("2", "1234.50"), ("2", "2.00"))


@pytest.mark.parametrize("name", sorted(LISTINGS))
def test_every_field_that_a_listing_shows_or_filters_by_exists(name: str, catalogs: Catalogs) -> None:
    listing = LISTINGS[name]
    rows = listing.rows(catalogs)
    assert rows
    assert all(hasattr(rows[0], field) for field in listing.names)
    assert len(table_of(rows[:1], listing.columns).rows[0]) == len(listing.columns)


def test_a_price_of_any_size_is_written() -> None:
    """What next to no output costs a million tokens passed the digits that decimals are rounded with."""
    written = {"1e100": f"1{'0' * 100}.00", "1234.56": "1235.00", "12.5": "12.50", "0.001234": "0.001234", "0": "0.00"}
    assert {each: significant(Decimal(each)) for each in written} == written
