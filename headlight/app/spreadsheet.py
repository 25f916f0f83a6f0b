"""Cells of CSV files that no spreadsheet takes for a formula."""

import re

_FORMULA = re.compile(r"^'*[=+\-@\t\r]")  # formulas, behind apostrophes


def as_text(cell: object) -> object:
    """Return a cell with an apostrophe before a formula such as "=1+1", also behind other apostrophes.

    Removing one apostrophe from such cells restores every text.
    """
    return _FORMULA.sub(r"'\g<0>", cell) if isinstance(cell, str) else cell
