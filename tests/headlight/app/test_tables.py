"""Tables as files: no cell is a formula for a spreadsheet, and the code of the guide restores every text."""

import csv
import io
import re

import pandas as pd
from hypothesis import example, given
from hypothesis import strategies as st
from support.source_files import ROOT

from headlight.app.widgets import as_csv

GUIDE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8").split("## Tables of the app")[1]
READ = GUIDE.split("```py\n")[1].split("```")[0].replace('"weights.csv"', "file")
TOKENS = st.one_of(
    st.sampled_from(["NA", "null", "nan", "None"]), st.text("=+-@\t\r\n'\",a 1▁", min_size=1, max_size=4)
)


@given(st.lists(TOKENS, max_size=5).map(lambda tokens: ["▁my", *tokens, "▁my"]))  # not all are numbers
@example(["▁my", '=HYPERLINK("http://x")', "@SUM(A1)", "-1+1", "\t=1", "\r=1", "'=1", "</s>"])
def test_a_table_has_no_formulas_and_is_restored(tokens):
    weights = [-0.5, *[float("nan")] * (len(tokens) - 1)]
    table = pd.DataFrame({"token": tokens, "key": [None, *tokens[1:]], "weight": weights, "masked": True})
    content = as_csv(table)
    rows = list(csv.reader(io.StringIO(content.decode("utf-8"), newline="")))
    assert not [cell for row in rows for cell in row[:2] if re.match(r"[=+\-@\t\r]", cell)]
    names: dict = {"file": io.BytesIO(content)}
    exec(READ, names)  # noqa: S102
    assert names["table"]["token"].tolist() == tokens
    assert names["table"]["key"].tolist()[1:] == tokens[1:] and pd.isna(names["table"]["key"][0])
    pd.testing.assert_series_equal(names["table"]["weight"], table["weight"])
    assert names["table"]["masked"].all()
