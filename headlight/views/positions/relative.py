"""The view on relative positions: a bias on the scores by distance, as T5 has it, in place of an added position."""

import numpy as np
import streamlit as st

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import choose_side, one_number, one_of
from headlight.app.finding import Finding, Templates
from headlight.app.results import TranslationRequest
from headlight.app.widgets import plain, show_figure, show_finding, show_translation
from headlight.plots.relative_positions import MOST_TOKENS, distance_words
from transformer.config import ModelConfig
from transformer.interpret.relative_positions import Moved, RelativeBias, relative_bias
from transformer.model.names import Stack

REACHES = ("16", "48", "all")
PLACES = 10  # by which the sentence is moved
FLAT = 0.05  # numbers that differ by less change the ratio of two weights by 5 % at most
_ROUNDING = 1e-3  # of the largest number
TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest) -> None:
    """Show each head's bias over distance, and between the tokens of the reader's sentence. Raises UserError."""
    model = results.translator(request.checkpoint).model
    st.markdown(TEMPLATES.text("why"))
    with st.container():  # where a phone shows a figure before what is said of it, this stays with the words above
        _show_formula(model.config)
    biases = {stack: relative_bias(model, stack) for stack in Stack}
    with st.container(horizontal=True, gap="medium"):
        side = Stack(choose_side())
        head = one_number(model.config.num_heads, "bias_head") - 1
        reach = one_of(REACHES, "bias_reach")
    see = describe_head(biases[side], side, head)
    for column, (stack, bias) in zip(st.columns(2, gap="medium"), biases.items(), strict=True):
        with column:
            st.markdown(TEMPLATES.text(f"ways_{stack}"))
            most = model.config.max_length - 1
            far = min(most, 3 * model.config.relative_distance // 2 if reach == "all" else int(reach))
            alt, finding = TEMPLATES.text("alt_curves", stack=stack), describe_head(bias, stack, head)
            show_figure(plots.bias_curves(bias, head, far, theme="page"), f"bias_{stack}", alt, finding)
            st.caption(plain(str(describe_buckets(model.config, bias))))
    show_finding(see, TEMPLATES.text("attempt"))
    st.markdown(TEMPLATES.text("look_for"))
    st.caption(TEMPLATES.text("cross"))
    _show_sentence(request, biases[side], side, head)


def _show_formula(config: ModelConfig) -> None:
    products = r"\frac{q_i \cdot k_j}{\sqrt{d_k}}" if config.scale_scores else r"q_i \cdot k_j"
    st.latex(rf"\text{{score}}_{{ij}} = {products} + b_{{\text{{head}},\; \text{{bucket}}(j - i)}}")


def _show_sentence(request: TranslationRequest, bias: RelativeBias, side: Stack, head: int) -> None:
    """Show the bias on the reader's sentence where it stands, and where there is room, later. Raises UserError."""
    st.subheader(TEMPLATES.text("on_sentence"))
    trace = show_translation(request)
    tokens = trace.source_tokens if side == Stack.ENCODER else trace.decoder_input_tokens
    shown = tokens[:MOST_TOKENS]
    if len(shown) < len(tokens):
        st.caption(TEMPLATES.text("first_tokens", shown=MOST_TOKENS, tokens=len(tokens)))
    limit = float(abs(bias.numbers[head]).max()) or 1.0
    moved = results.study(request).moved(PLACES)
    see, places = (describe_moved(moved), [0, moved.places]) if moved else (TEMPLATES("no_room"), [0])
    for column, first in zip(st.columns(2, gap="medium"), places, strict=False):
        with column:
            st.markdown(TEMPLATES.text("range", first=first, last=first + len(shown) - 1))
            alt = TEMPLATES.text("alt_map", head=head + 1, stack=side, first=first)
            show_figure(plots.bias_map(bias, head, tokens, first, limit, theme="page"), f"bias_map_{first}", alt, see)
    show_finding(see, TEMPLATES.text("attempt_map"))


def describe_head(bias: RelativeBias, stack: str, head: int) -> Finding:
    """Return the distances that a head, from 0, favours most and least, and the ratio of weights between them."""
    numbers = bias.at(bias.distances)[0][head].astype(np.float64)
    high, low, spread = int(numbers.argmax()), int(numbers.argmin()), float(np.ptp(numbers))
    name = {"head": head + 1, "stack": stack}
    if spread < FLAT:
        return TEMPLATES("flat", **name).followed_by(TEMPLATES("within", spread=spread))
    finding = TEMPLATES("favours", **name, high=_bucket_words(bias, high), highest=numbers[high])
    ratio = {"spread": spread, "factor": np.exp(spread)}
    return finding.followed_by(TEMPLATES("favours_least", low=_bucket_words(bias, low), lowest=numbers[low], **ratio))


def _bucket_words(bias: RelativeBias, at: int) -> str:
    """Name the distances that share the bucket of the distance at an index."""
    distances = bias.distances
    shared = bias.holds(int(bias.at(distances[at : at + 1])[1][0]))
    return distance_words(shared, furthest=int(np.abs(distances).max()))


def describe_buckets(config: ModelConfig, bias: RelativeBias) -> Finding:
    """Return the number of buckets of a side, of those that are one distance, and the beginning of the last."""
    count = config.relative_buckets // (2 if bias.both_ways else 1)
    last, furthest = bias.holds(count - 1), int(np.abs(bias.distances).max())
    return TEMPLATES(
        "buckets",
        buckets=config.relative_buckets,
        ways=TEMPLATES("each_direction", count=count) if bias.both_ways else TEMPLATES("up_to_query"),
        single=count // 2,
        last=TEMPLATES("begins", begin=np.abs(last).min()) if len(last) else TEMPLATES("beyond", furthest=furthest),
    )


def describe_moved(moved: Moved) -> Finding:
    """Return the change of the encoder's output when a sentence stands some positions later."""
    is_same = moved.difference < _ROUNDING * moved.largest
    difference = TEMPLATES("rounding" if is_same else "more_than_rounding", difference=moved.difference)
    numbers = {"places": moved.places, "largest": moved.largest, "difference": difference}
    return TEMPLATES("same_map" if is_same else "moved").followed_by(TEMPLATES("measured", **numbers))
