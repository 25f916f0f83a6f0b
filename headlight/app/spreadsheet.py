"""What a cell of a CSV file must not begin with."""

import re

_FORMULA = re.compile(r"^'*[=+\-@\t\r]")  # what spreadsheets calculate, behind apostrophes


def as_text(cell: object) -> object:
    """Return a cell that no spreadsheet calculates: a text such as "=1+1" gets an apostrophe before it.

    So does such a text behind apostrophes, so that who takes one off such cells has every text again.
    """
    return _FORMULA.sub(r"'\g<0>", cell) if isinstance(cell, str) else cell
