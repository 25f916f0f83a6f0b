"""A table as a file: what a spreadsheet would calculate is text in it."""

import csv
import io

import pandas as pd
import pytest
from support.source_files import ROOT

from headlight.app.widgets import as_csv


def read(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8"))))


@pytest.mark.parametrize("token", ["=1+1", '=HYPERLINK("http://x")', "+1", "-", "-1+1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_token_that_reads_like_a_formula_is_text(token):
    table = pd.DataFrame({"token": [token, "▁my", None], "weight": [-0.5, 0.25, 1.0], "masked": [True, False, False]})
    text = as_csv(table).decode("utf-8")
    assert f"'{token[0]}" in text
    assert read(text.replace("\r=", "=").encode())[1:] == [
        [f"'{token}".replace("\r=", "="), "-0.5", "True"],
        ["▁my", "0.25", "False"],
        ["", "1.0", "False"],
    ]


def test_who_reads_a_table_as_the_guide_says_has_every_text_again(tmp_path, monkeypatch):
    """A number column too, and blanks where there is nothing."""
    signs = [*"=+-@\t\r\n'\",a 1", "''", "▁-", "NA", "null", "nan", "None"]
    tokens = [one + other for one in signs for other in ("", "=1", "'-", "x")]
    table = pd.DataFrame(
        {"token": tokens, "key": [None, *tokens[1:]], "weight": [0.5, *[float("nan")] * (len(tokens) - 1)]}
    )
    (tmp_path / "weights.csv").write_bytes(as_csv(table))
    monkeypatch.chdir(tmp_path)
    section = (ROOT / "docs" / "python.md").read_text(encoding="utf-8").split("## Tables of the app")[1]
    names: dict = {}
    exec(section.split("```py\n")[1].split("```")[0], names)
    assert names["table"]["token"].tolist() == tokens
    assert names["table"]["key"].tolist()[1:] == tokens[1:] and pd.isna(names["table"]["key"][0])
    pd.testing.assert_series_equal(names["table"]["weight"], table["weight"])


def test_commas_quotes_and_lines_stay_within_their_cell():
    tokens = ['"', ",", "a\nb", "'", "</s>"]
    assert [row[0] for row in read(as_csv(pd.DataFrame({"token": tokens})))] == ["token", *tokens]
