"""The procurement sheet as a workbook: the choices, what each orders, what was assumed, sources, and a chart."""

import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

from optimizer.answers.bill import BillLine
from optimizer.answers.compare.types import Compared, Comparison
from optimizer.base.extras import optional
from optimizer.report.compare.compare import SHEET_COLUMNS, flat, shown_in_sheets
from optimizer.report.layout.cells import csv_cell

SHEET_EXTRA = "sheet"
WIDEST_COLUMN: Final = 60
"""Characters beyond which a column is no longer widened for its content."""
MOST_BARS: Final = 20
A4: Final = 9
"""As the file format numbers paper."""
AS_MANY_AS_IT_TAKES: Final = 0
TEXT: Final = ""
DAY: Final = "yyyy-mm-dd"
FORMATS: Final[Mapping[str, str]] = {
    "monthly_cost_usd": "#,##0.00",
    "difference_usd": "+#,##0.00;-#,##0.00;0.00",
    "idle_gpus_usd": "#,##0.00",
    "cost_per_million_tokens_usd": "#,##0.0000",
    "cost_per_million_output_tokens_usd": "#,##0.0000",
    "cost_per_request_usd": "#,##0.00000000",
    "unit_price_usd": "#,##0.00########",
    "quantity_per_month": "#,##0.######",
    **dict.fromkeys(("rank", "gpus", "idle_gpus", "price_age_days", "gpus_per_instance", "count"), "#,##0"),
    "commitment_months": "#,##0",
    **dict.fromkeys(("price_as_of", "as_of"), DAY),
}
"""Columns of figures and days, the rest being text."""
LINE_COLUMNS: Final = (
    *("choice", "line", "provider", "region", "country", "item", "gpu", "gpus_per_instance", "count"),
    *("pricing_term", "commitment_months", "unit", "unit_price_usd", "quantity_per_month", "monthly_cost_usd"),
    *("price_as_of", "price_source", "seller"),
)
ASSUMPTION_COLUMNS: Final = ("about", "name", "value", "stated")
LINK: Final = "url"
SOURCE_COLUMNS: Final = ("title", "licence", "as_of", LINK)
Row = Mapping[str, object]


def compare_xlsx(answer: Comparison, top: int | None = None) -> bytes:
    """The workbook; the same answer gives the same bytes, dated as the catalog is.

    Raises:
        InputError: the library that writes spreadsheets is not installed; says how to install it.
    """
    content = io.BytesIO()
    # every string is written as one: what somebody called a provider is never a formula, a link or a number
    strings = dict.fromkeys(("strings_to_formulas", "strings_to_urls", "strings_to_numbers"), False)
    library = optional("xlsxwriter", extra=SHEET_EXTRA)
    book = _Book(library.Workbook(content, {"in_memory": True, **strings}))
    created = datetime.combine(answer.catalog_as_of, time())
    book.book.set_properties({"title": answer.summary, "created": created})
    choices = shown_in_sheets(answer, top)
    book.sheet("comparison", SHEET_COLUMNS, (flat(row) for row in choices))
    book.sheet("lines", LINE_COLUMNS, (_line(row, line) for row in choices for line in row.lines))
    book.sheet("assumptions", ASSUMPTION_COLUMNS, (each.model_dump() for each in answer.assumptions))
    book.sheet("sources", SOURCE_COLUMNS, (each.model_dump() for each in answer.sources))
    book.chart(f"{answer.scenario} by {answer.by.replace('_', ' ')}", [row.monthly_cost_usd for row in choices])
    book.book.close()
    return content.getvalue()


def _line(choice: Compared, line: BillLine) -> Row:
    return {"choice": choice.choice, **line.model_dump()}


class _Book:
    """A workbook being written; the library has no types."""

    def __init__(self, book: Any) -> None:
        self.book = book
        self.bold = book.add_format({"bold": True, "bottom": 1})
        self.quoted = book.add_format({"quote_prefix": True})
        self.formats = {each: book.add_format({"num_format": each}) for each in dict.fromkeys(FORMATS.values())}

    def sheet(self, name: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """A table with a filter on every column and a heading that stays; columns as wide as what they hold."""
        sheet = self.book.add_worksheet(name)
        widths = [len(column) + 3 for column in columns]
        for at, column in enumerate(columns):
            sheet.write_string(0, at, column, self.bold)
        last = 0
        for last, row in enumerate(rows, start=1):
            for at, column in enumerate(columns):
                self._cell(sheet, (last, at), row[column], FORMATS.get(column, TEXT), is_link=column == LINK)
                widths[at] = max(widths[at], len(str(row[column])) + 1)
        for at, width in enumerate(widths):
            sheet.set_column(at, at, min(WIDEST_COLUMN, width))
        sheet.freeze_panes(1, 0)
        sheet.autofilter(0, 0, last, len(columns) - 1)
        sheet.repeat_rows(0)
        _one_page_wide(sheet)

    def _cell(self, sheet: Any, at: tuple[int, int], value: object, form: str, *, is_link: bool) -> None:
        """A figure, as it is written in the JSON, a day, a link or text; nothing where nothing is known."""
        if value is None:
            return
        if isinstance(value, date):
            sheet.write_datetime(*at, datetime.combine(value, time()), self.formats[form])
        elif form:
            sheet.write_number(*at, float(str(value)), self.formats[form])
        elif is_link and value:
            sheet.write_url(*at, str(value), string=str(value))
        else:
            # the mark of text, so that nobody who edits the cell makes a formula of it
            run_as_csv = csv_cell(str(value)) != str(value)
            sheet.write_string(*at, str(value), self.quoted if run_as_csv else None)

    def chart(self, title: str, costs: Sequence[Decimal | None]) -> None:
        """A bar for the month of each choice that has a plan, on a sheet of its own; they stand first in theirs."""
        known = [at for at, cost in enumerate(costs, start=1) if cost is not None][:MOST_BARS]
        if not known:
            return
        column = SHEET_COLUMNS.index
        bars = self.book.add_chart({"type": "bar"})
        bars.add_series(
            {
                "name": "US dollars a month",
                "categories": ["comparison", known[0], column("choice"), known[-1], column("choice")],
                "values": ["comparison", known[0], column("monthly_cost_usd"), known[-1], column("monthly_cost_usd")],
                "data_labels": {"value": True, "num_format": "#,##0"},
            }
        )
        bars.set_title({"name": title, "overlay": False})
        bars.set_legend({"none": True})
        bars.set_y_axis({"reverse": True})
        bars.set_x_axis({"num_format": "#,##0", "name": "US dollars a month"})
        bars.set_size({"width": 900, "height": 160 + 26 * len(known)})
        sheet = self.book.add_worksheet("chart")
        sheet.insert_chart(0, 0, bars)
        _one_page_wide(sheet)


def _one_page_wide(sheet: Any) -> None:
    """Printed, or turned into a PDF to be signed, every column of a row stands on the same page."""
    sheet.set_landscape()
    sheet.set_paper(A4)
    sheet.fit_to_pages(1, AS_MANY_AS_IT_TAKES)
