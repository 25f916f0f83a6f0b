"""The page on logits: one step from vector to word, the logit lens, and calibration."""

import streamlit as st

from headlight.app import results
from headlight.app.choices import choose_step, show_views, slider
from headlight.app.line import part_by_part
from headlight.app.results import CheckpointFiles, TranslationRequest, measures
from headlight.app.widgets import (
    Panel,
    is_presented,
    plain,
    show_calculation,
    show_figure,
    show_finding,
    show_panels,
    show_table,
    show_translation,
)
from headlight.plots.decoding import (
    PRESENTED,
    SHOWN,
    calibration_figure,
    histogram_figure,
    logits_figure,
    ranks_figure,
    truncation_figure,
)
from headlight.plots.text import norm_name, quoted, token_cells
from transformer.config import Positions
from transformer.decoding.sampling import truncate
from transformer.evaluation import Confidence, concatenate
from transformer.experiments.training import Smoothing, SmoothingForm
from transformer.interpret.parameters import output_row

from .content import describe_confidence, describe_cut, describe_lens, lens_rows, logit_by_hand, softmax_by_hand

_PARTS = 8


def _show_step(request: TranslationRequest) -> None:
    """Show output projection, softmax, and what temperature, top-k and top-p do to it. Raises UserError."""
    translator, trace = results.translator(request.checkpoint), show_translation(request)
    stream = results.residual_stream(request)
    step = choose_step(trace)
    name, logits = translator.tokenizer.piece_text, stream.logits[step]
    untempered = truncate(logits)
    model, best = translator.model, int(untempered.order[0])
    st.subheader("1. From a vector to a logit for every token")
    width, rows = model.config.d_model, model.config.output_size
    shared = ", the same matrix that embeds the tokens" if model.config.ties_output else ""
    shapes = f"{width} numbers times a matrix of {rows:,} rows by {width}{shared}"
    plus = ", plus a bias, which the paper does not have" if model.config.output_bias else ""
    st.markdown(plain(f"The decoder's last vector is {shapes}: one dot product per token (paper, 3.4){plus}."))
    most = PRESENTED if is_presented() else SHOWN
    alt = f"The {most} largest logits of step {step + 1}, which predicts {quoted(trace.target_tokens[step])}"
    show_figure(logits_figure(untempered, name, most), "logits_bars", alt)
    row, bias = output_row(model, best)
    by_hand = logit_by_hand(stream.decoder.end[step], row, logits[best], bias)
    show_calculation(f"{name(best)}: {by_hand}")
    st.subheader("2. Softmax, and what may be drawn")
    with st.container(horizontal=True, gap="medium"):
        temperature = slider("Temperature", 0.1, 3.0, "lens_temperature", 0.1, width=220)
        top_k = slider("Top-k (0: all)", 0, 50, "lens_topk", width=220)
        top_p = slider("Top-p", 0.05, 1.0, "lens_topp", 0.05, width=220)
    tempered = truncate(logits, temperature, top_k, top_p, model.config.never_chosen)
    alt = "Probabilities of the same tokens before and after the cut"
    see = describe_cut(tempered, name, temperature)
    show_figure(truncation_figure(tempered, name, most), "cut_bars", alt, see)
    st.caption(
        "Bars: the sampling distribution. Diamonds: softmax of the logits as they are; a cross: cut off. Logits are "
        "divided by the temperature, top-k keeps the best, top-p the fewest of these that hold so much of their mass "
        "(Holtzman et al. 2020)."
    )
    show_finding(
        see,
        "temperature 0.1: sampling becomes nearly greedy decoding. Then temperature 2 with top-p 0.9: how many tokens "
        "does it let in?",
    )
    taken = trace.target_ids[step]
    show_calculation(f"{name(taken)}: {softmax_by_hand(untempered, taken, float(trace.target_probabilities[step]))}")


def _show_lens(request: TranslationRequest) -> None:
    """Show what each decoder layer would have predicted, layers by steps, then the ranks. Raises UserError."""
    translator, trace = results.translator(request.checkpoint), show_translation(request)
    lens = results.lens(request)
    config = translator.model.config
    norm = f"put through the output projection as they are, for each layer ends with a {norm_name(config)}"
    if config.norm == "pre":
        norm = f"put through the stack's last {norm_name(config)} and the output projection"
    adds_none = config.positions in (Positions.NONE, Positions.RELATIVE)
    start = "fed token's embedding" if adds_none else "fed token with its position"
    label, rows = "The logit lens: layers by steps", lens_rows(lens, translator.tokenizer.piece_text)
    see = describe_lens(lens, trace)
    with st.container():  # what is said of the table stays with it where the window is low
        st.markdown(
            "What if the decoder stopped early? **Bold** is each layer's top-1 prediction; below it stand probability "
            "and rank of the token that comes in the end."
        )
        show_table(
            label, "comes in the end", token_cells(trace.target_tokens), rows, shades=lens.probabilities.tolist()
        )
        st.caption(f"The vectors after each layer are {norm}. “Start” is the {start}. The bluer, the more probable.")
        show_finding(see)
    st.subheader("How the final token rises")
    step = choose_step(trace)
    alt = f"Rank of {trace.target_tokens[step]} after each layer; the other steps in grey"
    show_figure(ranks_figure(lens, trace.target_tokens, step), "ranks", alt, see)
    st.caption(
        plain(f"Blue: {quoted(trace.target_tokens[step])}.") + " The output projection was trained for the last layer "
        "only: an earlier one may know more than the lens can read (Belrose et al. 2023)."
    )


def _show_calibration(request: TranslationRequest) -> None:
    """Show how sure the model is and how often right, over the checkpoint's sentence pairs. Raises UserError."""
    translator = results.translator(request.checkpoint)
    settings = translator.checkpoint.settings("label_smoothing")
    smoothing = None
    if settings is not None:
        smoothing = Smoothing(SmoothingForm.ALL, settings.label_smoothing, translator.model.config.output_size)
    measured = _measure(request.checkpoint)
    st.markdown(
        "The sentence pairs that come with this checkpoint, on none of which it was trained: the reference is fed, and "
        "the **top-1 prediction**, the most probable next token, is compared with the reference's."
    )
    see = describe_confidence(measured, smoothing)
    show_panels(
        f"{request.checkpoint.name} on its sentence pairs",
        Panel("Confidence", histogram_figure(measured, smoothing.right if smoothing and smoothing.epsilon else None)),
        Panel("Calibration: how sure, and how right", calibration_figure(measured)),
        see=see,
    )
    show_finding(see, "the other checkpoints, and “label smoothing” on the page Training.")


def _measure(checkpoint: CheckpointFiles) -> Confidence:
    """Measure part by part, each cached once it is there, so that leaving the page stops it."""
    count = min(_PARTS, len(results.samples(checkpoint)))
    words = "Reading the sentence pairs …"
    return concatenate(part_by_part(range(count), lambda part: measures.confidence(checkpoint, part, count), words))


VIEWS = {"one step": _show_step, "logit lens": _show_lens, "calibration": _show_calibration}


def show_page(request: TranslationRequest) -> None:
    """Show the view that the address asks for. Raises UserError."""
    show_views(VIEWS, "logits", request, without_sentence=("calibration",))
