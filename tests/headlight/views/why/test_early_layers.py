"""Early layers on their page: the table, the parts of a logit and their sentences, for numbers made by hand."""

import re
from dataclasses import replace

import numpy as np
from support.pages import numbers, open_page, page_text, specs

from headlight.plots.contributions import logit_kinds_figure, logit_parts_figure
from headlight.views.why.early_layers import early_layers_html
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.what_if.logit_attribution import LogitAttribution

NAMES = ("</s>", "▁a", "▁b", "<i>")


def wrote(*ids, log_probability=-1.5) -> Hypothesis:
    return Hypothesis(ids, log_probability, log_probability, True)


def parts(**changes) -> LogitAttribution:
    """Of a decoder with 2 layers of 3 heads; they sum to 3.5."""
    given = {
        "decoder": np.array([[0.0, 0.25, 0.0], [0.0, 0.0, -0.5]]),
        "cross": np.array([[0.0, 0.0, 0.0], [1.25, 0.0, 0.25]]),
        "feed_forward": np.array([0.5, 2.0]),
        "embedding": 0.75,
        "position": 0.0,
        "biases": -1.0,
        "logit": 3.5,
    }
    return LogitAttribution(**{**given, **changes})


def test_the_table_marks_kept_tokens_cuts_what_has_no_end_and_takes_tokens_as_text():
    found = [wrote(*[3] * 20, 1, log_probability=-84.25), wrote(1, 3, 0), wrote(1, 2, 0)]
    rows = re.findall(
        r"<tr><th scope=\"row\">(.*?)</th><td>(.*?)</td>(.*?)</tr>", early_layers_html(found, NAMES.__getitem__)
    )
    assert [row[:2] for row in rows] == [("embeddings", "−84.25"), ("layer 1", "−1.50"), ("layer 2", "−1.50")]
    assert rows[0][2].count(">&lt;i&gt;<") == 11 and "… 10 more" in rows[0][2] and "<i>" not in rows[0][2]
    spans = re.findall(r'<span class="(\w+)" title=".*?">(.*?)</span>', rows[1][2])
    assert spans == [("kept", "a"), ("other", "&lt;i&gt;"), ("kept", "⟨end⟩")] and "more" not in rows[1][2]
    assert "… and goes on" not in rows[0][2]
    endless = early_layers_html([replace(found[0], ids=(3,) * 9, finished=False), *found[1:]], NAMES.__getitem__)
    assert endless.count("… and goes on") == 1 and "more" not in endless


def test_the_bars_are_the_kinds_and_the_map_has_every_head():
    (bars,) = logit_kinds_figure(parts()).data
    assert list(bars.x) == [0.75, 0.0, -0.25, 1.5, 2.5, -1.0] and bars.text[2] == "−0.25"
    assert bars.marker.color[2] == bars.marker.color[5] != bars.marker.color[0] == bars.marker.color[4]
    cells, digits = logit_parts_figure(parts()).data
    nan = np.nan
    expected = [[0, 0.25, 0, nan, 0, 0, 0, nan, 0.5], [0, 0, -0.5, nan, 1.25, 0, 0.25, nan, 2]]
    np.testing.assert_array_equal(cells.z, np.array(expected, dtype=np.float32))
    assert (cells.zmin, cells.zmax) == (-2, 2) and len(digits.text) == 14 and "−.50" in digits.text
    assert "cross-attention head 1<br>adds <b>1.2500" in cells.hovertext[1][4]
    axis = logit_parts_figure(parts()).layout.xaxis
    assert dict(zip(axis.tickvals, axis.ticktext, strict=True))[8] == "feed-<br>forward"


def view(**query):
    return open_page("pages/why.py", why="early layers", **query)


def test_the_view_adds_up_to_the_logit_of_the_step_and_to_its_lead():
    app = view(logit_step="3")
    bars, cells = specs(app)
    said = re.search(r"All parts sum to (\S+); the run's logit of “meinen” is (\S+)\. ", page_text(app))
    assert said[1] == said[2] == f"{numbers(bars['data'][0]['x']).sum():.2f}"
    assert numbers(cells["data"][0]["z"]).shape == (3, 19)
    lead = view(logit_step="3", logit_of="lead over the runner-up")
    assert "the run's logit of “meinen” minus that of “" in page_text(lead)
    assert numbers(specs(lead)[0]["data"][0]["x"]).sum() < float(said[1])


def test_it_is_greedy_instead_of_sampled_and_says_so():
    assert "Here it decodes greedily" in page_text(view(decoding="sampling", seed="7"))
    beam = page_text(view(decoding="beam", beam="3"))
    assert "greedily" not in beam and "LayerNorm (DecoderLens" not in beam
    assert "through the encoder's last LayerNorm (DecoderLens" in page_text(view(checkpoint="reverse", text="abc"))
