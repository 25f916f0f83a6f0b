"""Laws of the sentences on the residual stream: sub-layers, hidden units and embeddings, counted again."""

import re

import numpy as np
import pytest
from support.captions import PERCENT, as_percent, as_printed, number
from support.texts import SENTENCES
from support.traces import loaded, stream_of, trace_of

from headlight.views.research.feed_forward import describe_units
from headlight.views.research.trajectory import describe_trajectory
from transformer.interpret.residual import record_hidden_units, trajectory

_OURS = {"self-attention": "self_attention", "cross-attention": "cross_attention", "feed-forward": "feed_forward"}
_CASES = [*(("en-de", text) for text in SENTENCES[::2]), ("reverse", "a b c d"), ("reverse", "x")]


def _cosine(one, other) -> float:
    one, other = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    return float(one @ other / (one @ one) ** 0.5 / (other @ other) ** 0.5)


def _norm(vector) -> float:
    return sum(float(value) ** 2 for value in vector) ** 0.5


def _place(named: str) -> tuple[int, str]:
    layer, kind = re.fullmatch(r"[Ll]ayer (\d+) (.*)", named).groups()
    return int(layer) - 1, _OURS[kind]


@pytest.mark.parametrize(("name", "text"), _CASES)
def test_the_sub_layers_that_turn_and_add_most(name, text):
    trace, stream = trace_of(name, text), stream_of(name, text)
    for stack, tokens in (("encoder", trace.source_tokens), ("decoder", trace.decoder_input_tokens)):
        side = getattr(stream, stack)
        for token in range(0, len(tokens), max(1, len(tokens) // 4)):
            said = str(describe_trajectory(trajectory(side, token), tokens[token]))
            named, cosine, adding, most, onto, last, share = re.fullmatch(
                rf"“{re.escape(tokens[token])}” changes most in (layer .*)\. The cosine with the vector before is "
                r"(−?[\d.]+)\. (Layer .*) adds the largest norm \(([\d.]+), to ([\d.]+)\)\. The last "
                rf"vector's cosine with the embedding is (−?[\d.]+): ({PERCENT}) of its squared norm lies along the "
                r"embedding's direction\.",
                said,
            ).groups()
            turns = {(p.layer, str(p.name)): _cosine(p.before[token], p.after[token]) for p in side.sublayers}
            norms = {(p.layer, str(p.name)): _norm(p.change[token]) for p in side.sublayers}
            before = {(p.layer, str(p.name)): _norm(p.before[token]) for p in side.sublayers}
            turned, added = _place(named), _place(adding)
            assert turns[turned] <= min(turns.values()) + 1e-9 and as_printed(cosine, turns[turned])
            assert norms[added] >= max(norms.values()) - 1e-9 and as_printed(most, norms[added])
            assert as_printed(onto, before[added])
            end = _cosine(side.end[token], side.embedded[token])
            assert as_printed(last, end) and as_percent(share, end * end)


def _check_units(units: np.ndarray, token: int, activation: str) -> None:
    said = str(describe_units(units, token, ["word"] * len(units), activation))
    columns = [[float(row[unit]) for row in units] for unit in range(units.shape[1])]
    own, width, lowest, always, never = re.fullmatch(
        r"(?:Only )?([\d,]+) of ([\d,]+) units fire for “word”\. (?:The lowest is (\S+)\. )?([\d,]+) fire for every "
        r"token of the sentence, ([\d,]+) for none\.",
        said,
    ).groups()
    assert (number(own), number(width)) == (sum(column[token] > 0 for column in columns), len(columns))
    assert (lowest is None) == (activation == "ReLU")
    assert lowest is None or as_printed(lowest, min(column[token] for column in columns))
    assert number(always) == sum(min(column) > 0 for column in columns) and number(never) == sum(
        max(column) <= 0 for column in columns
    )


def test_how_many_hidden_units_are_active():
    for at, text in enumerate(SENTENCES[::3]):
        trace, model = trace_of("en-de", text), loaded("en-de").model
        for stack, tokens in (("encoder", trace.source_tokens), ("decoder", trace.decoder_input_tokens)):
            units = record_hidden_units(model, trace.source_ids, trace.decoder_input_ids, stack, at % 3)
            _check_units(units, at % len(tokens), "ReLU")
    for made in ([[0.0, 1.0, 0.0], [0.0, 2.0, 3.0]], [[0.0, 1.0, 0.0]], [[0.0, 0.0]] * 2, [[1.0] * 7, [2.0] * 7]):
        _check_units(np.array(made), 0, "ReLU")
        _check_units(np.array(made) - 0.125, 0, "SiLU")
