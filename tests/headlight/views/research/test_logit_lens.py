"""Early exits: the table of translations by hand, and both tables on the page."""

import html
import re
from dataclasses import replace

from support.pages import open_page, page_text

from headlight.plots.tokens import shown_tokens
from headlight.views.research.logit_lens import early_layers_html
from transformer.decoding.sampling import Hypothesis

NAMES = ("</s>", "▁a", "▁b", "<i>")


def wrote(*ids, log_probability=-1.5) -> Hypothesis:
    return Hypothesis(ids, log_probability, log_probability, True)


def test_the_table_marks_kept_tokens_cuts_what_has_no_end_and_takes_tokens_as_text():
    translations = [wrote(*[3] * 20, 1, log_probability=-84.25), wrote(1, 3, 0), wrote(1, 2, 0)]
    rows = re.findall(
        r"<tr><th scope=\"row\">(.*?)</th><td>(.*?)</td>(.*?)</tr>", early_layers_html(translations, NAMES.__getitem__)
    )
    assert [row[:2] for row in rows] == [("embeddings", "−84.25"), ("layer 1", "−1.50"), ("layer 2", "−1.50")]
    assert rows[0][2].count(">&lt;i&gt;<") == 11 and "… 10 more" in rows[0][2] and "<i>" not in rows[0][2]
    spans = re.findall(r'<span class="(\w+)">(.*?)</span>', rows[1][2])
    assert spans == [("kept", "a"), ("other", "&lt;i&gt;"), ("kept", "⟨end⟩")] and "more" not in rows[1][2]
    assert "… and goes on" not in rows[0][2]
    endless = early_layers_html(
        [replace(translations[0], ids=(3,) * 9, finished=False), *translations[1:]], NAMES.__getitem__
    )
    assert endless.count("… and goes on") == 1 and "more" not in endless


def test_both_tables_end_in_the_greedy_translation_also_where_sampling_is_chosen(shipped):
    text = "The dog sleeps."
    trace = shipped.trace(text)
    app = open_page("pages/research.py", research="logit lens", text=text, decoding="sampling", seed="7")
    bodies = "".join(element.proto.body for element in app.get("html"))
    lens, early = re.findall(r"(?s)<tbody>(.*?)</tbody>", bodies)
    assert lens.count("<tr>") == early.count("<tr>") == 4
    last = re.findall(r'<span class="\w+">(.*?)</span>', early.rpartition("<tr>")[2])
    assert list(map(html.unescape, last)) == shown_tokens(trace.target_tokens)
    assert "It decodes greedily" in page_text(app)
