"""The procurement sheet as a spreadsheet: the lines of the CSV form, with figures as numbers."""

import io
from datetime import datetime, time

from optimizer.answers.compare.types import Comparison
from optimizer.base.extras import optional
from optimizer.report.compare.compare import sheet_lines
from optimizer.report.layout.cells import number_in

SHEET_EXTRA = "sheet"
WIDEST_COLUMN = 60
"""Characters beyond which a column is no longer widened for its content."""


def compare_xlsx(answer: Comparison, top: int | None = None) -> bytes:
    """The sheet; the same answer gives the same bytes, dated as the catalog is.

    Raises:
        InputError: the library that writes spreadsheets is not installed; says how to install it.
    """
    content = io.BytesIO()
    book = optional("xlsxwriter", extra=SHEET_EXTRA).Workbook(content, {"in_memory": True})
    book.set_properties({"title": answer.summary, "created": datetime.combine(answer.catalog_as_of, time())})
    sheet, bold = book.add_worksheet(answer.by), book.add_format({"bold": True})
    lines = list(sheet_lines(answer, top))
    for at, line in enumerate(lines):
        for column, cell in enumerate(line):
            figure = number_in(cell) if at else None
            # never plain `write`, which makes formulas and links of text
            if figure is None:
                sheet.write_string(at, column, cell, None if at else bold)
            else:
                sheet.write_number(at, column, figure)
    for column, cells in enumerate(zip(*lines, strict=True)):
        sheet.set_column(column, column, min(WIDEST_COLUMN, max(len(cell) for cell in cells) + 1))
    sheet.freeze_panes(1, 0)
    book.close()
    return content.getvalue()
