"""Proofreading sheets: each text of a page stands in its sheet, with examples of its views where these say it."""

import html
import re
import tomllib

import pytest
from support.pages import ROOT

from headlight.__main__ import main
from headlight.proofreading import PAGES, sheet


def rows_of(page: str) -> list[list[str]]:
    """Return the cells of a sheet's rows."""
    return [
        [html.unescape(cell) for cell in re.findall("<td>(.*?)</td>", row, re.DOTALL)] for row in page.split("<tr>")
    ]


def keys_of(table: dict) -> list[str]:
    """Return the keys of all texts of a file, each with those of its tables."""
    return [
        f"{name} › {key}" if key else name
        for name, value in table.items()
        for key in (keys_of(value) if isinstance(value, dict) else [""])
    ]


@pytest.mark.parametrize("page", PAGES)
def test_a_sheet_has_every_key_of_its_page_with_an_example(page):
    rows = {key: (template, examples) for key, template, examples in rows_of(sheet(page, {}))[2:]}
    path = next(path for path in PAGES[page] if path.name == "texts.toml")
    name = path.relative_to(ROOT / "headlight").as_posix()
    expected = {f"{name} › {key}" for key in keys_of(tomllib.loads(path.read_text("utf-8")))}
    assert expected == {key for key in rows if key.startswith(f"{name} › ")} and len(expected) > 2
    filled = [bool(examples) for template, examples in rows.values() if "{" in template]
    assert sum(filled) >= 0.85 * len(filled)


def test_the_command_fills_texts_with_what_the_views_say(tmp_path):
    assert main(["texts", "--page", "positions", "--out", str(tmp_path / "positions.html")]) == 0
    rows = {key: examples for key, _, examples in rows_of((tmp_path / "positions.html").read_text("utf-8"))[2:]}
    moved = rows["views/positions/texts.toml › word_order_content › texts › moved"].splitlines()
    assert len(moved) == 3 and all(re.search(r"^“.*” stands at position \d", line) for line in moved)
