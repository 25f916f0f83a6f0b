"""The view on batches: real sentence pairs bucketed as training does it, one batch opened, and what padding costs."""

from collections.abc import Iterable, Sequence

import streamlit as st

from headlight.app import results
from headlight.app.choices import from_list, one_of, slider, slider_of
from headlight.app.results import TranslationRequest
from headlight.app.widgets import plain, show_figure, show_finding, show_table
from headlight.plots.heatmap import mask_figure
from headlight.plots.text import Finding, percent, pluralize, quoted, token_cells
from headlight.plots.training import WAYS, batch_figure, ratios_figure
from headlight.views.inside.masks_content import describe_masks, describe_shapes
from transformer import Translator
from transformer.data.batching import (
    BatchView,
    Example,
    Padding,
    count_padding,
    epoch_batches,
    random_batches,
    view_examples,
)

BUDGETS = ("128", "256", "512", "1024", "2048")
ROOM_OF_THE_MASK = 420  # pixels
PART = 4  # of the sample a fourth, to see what a larger one saves


def show(request: TranslationRequest) -> None:
    """Show a batch and one of its sentences, then all batches in both ways. Raises UserError without a sample."""
    st.subheader("Batches: sentences of unlike length side by side")
    translator, examples = results.translator(request.checkpoint), results.samples(request.checkpoint)
    st.markdown(
        "A batch is a rectangle: sentences shorter than its longest are filled up with padding, computed and thrown "
        "away. So the trainer puts sentences of like length into one batch (bucketing), as many as fit a budget of "
        "tokens (paper, 5.1: about 25,000 source and 25,000 target tokens)."
    )
    _show_source(translator, len(examples))
    with st.container(horizontal=True, gap="medium"):
        limit = "Sentences times the longer side's padded length stay within it: `batch_tokens` of a training."
        budget = int(slider_of("Budget, tokens per batch", BUDGETS, "budget", limit, width=240))
        way = one_of("Batched", WAYS, "bucketing", "At random: in any order, with the same budget.")
        seed = slider("Seed of the shuffle", 1, 20, "shuffle", width=150)
    both = _both_ways(examples, budget, seed, translator.model.config.max_length)
    batches = both[way]
    with st.container(horizontal=True, gap="medium"):
        number = _number("Batch", len(batches), "batch")
        batch = batches[number - 1]
        row = _number("Sentence of the batch", len(batch), "sentence") - 1
    opened = view_examples(batch, translator.tokenizer)
    st.subheader(f"Batch {number} of {len(batches)}, batched {way}")
    _show_batch(opened, batch, budget, row, translator)
    st.subheader(f"Sentence {row + 1} of this batch")
    _show_row(opened, row)
    st.subheader("What padding costs")
    _show_cost(both, way, count_padding(batch).ratio)
    _show_effect_of_size(translator, examples, both[WAYS[0]], budget, seed)


def _show_source(translator: Translator, count: int) -> None:
    """Say whose sentences these are, and how training differs."""
    checkpoint = translator.checkpoint
    data, settings = checkpoint.data, checkpoint.settings("batch_tokens", "join_probability")
    whose = data.get("samples") or ", ".join(data[name] for name in ("name", "licence", "attribution") if name in data)
    text = f"{count} sentence pairs that come with this checkpoint{f' ({whose})' if whose else ''}."
    if settings is not None:
        text += f" Its training had batches of {settings.batch_tokens:,} tokens"
        joined = f", and read {percent(settings.join_probability)} of the pairs joined with the next one; here none is"
        text += f"{joined if settings.join_probability else ''}."
    st.caption(plain(text))


def _both_ways(examples: Sequence[Example], budget: int, seed: int, max_length: int) -> dict[str, list[list[Example]]]:
    """Return all batches of one epoch, by length as training makes them, and at random."""
    by_length = epoch_batches(examples, budget, 0.0, max_length, seed)
    return dict(zip(WAYS, (by_length, random_batches(examples, budget, seed)), strict=True))


def _number(label: str, count: int, key: str) -> int:
    """Return a chosen number from 1 to `count`; one that is no longer there falls back to the first."""
    options = [str(number) for number in range(1, count + 1)]
    return int(from_list(f"{label}, 1 to {count}", options, key))


def _show_batch(opened: BatchView, batch: Sequence[Example], budget: int, row: int, translator: Translator) -> None:
    """Show both sides of the batch, cell by cell."""
    end = translator.tokenizer.piece_text(translator.tokenizer.end_id)
    for column, side, tokens, lengths in zip(
        st.columns(2, gap="medium"),
        ("source", "target"),
        (opened.source_tokens, opened.target_tokens),
        (opened.source_lengths, opened.target_lengths),
        strict=True,
    ):
        with column, st.container(key=f"crowded_batch_{side}"):
            st.markdown(f"**{'Source' if side == 'source' else 'Target, as it is to be predicted'}**")
            alt = f"The {side} side of the batch: {len(tokens)} sentences, {len(tokens[0])} positions"
            show_figure(batch_figure(tokens, lengths, end, side, row), f"batch_{side}", alt)
    st.caption(
        f"Blue cells are tokens, the strongest blue {plain(end)}; hatched ones padding. The chosen sentence is framed."
    )
    attempt = "the other way: the budget is the same, the hatched part is not."
    show_finding(describe_batch(opened, count_padding(batch), budget), attempt)


def _show_row(opened: BatchView, row: int) -> None:
    """Show what one sentence is fed and must predict, and what its masks let it attend to."""
    source, fed, following = opened.source_tokens[row], opened.decoder_input_tokens[row], opened.target_tokens[row]
    source_masked, fed_masked = (~mask[row, 0, 0] for mask in (opened.source_mask, opened.target_padding_mask))
    counts = [position < opened.target_lengths[row] for position in range(len(fed))]
    show_table(
        "Source and its mask",
        "position",
        _positions(source),
        [("source", token_cells(source)), ("may be read", _yes_or_no(~source_masked))],
        [source_masked.tolist()] * 2,
    )
    st.caption(plain(describe_source(opened, row)))
    show_table(
        "Target, shifted: fed against predicted",
        "position",
        _positions(fed),
        [("fed", token_cells(fed)), ("predicted", token_cells(following)), ("counts in the loss", _yes_or_no(counts))],
        [fed_masked.tolist(), *[[not count for count in counts]] * 2],
    )
    st.caption("What is predicted at a position is fed at the next one: one column to the right, one line up.")
    show_finding(describe_shift(opened, row))
    mask, text = st.columns((3, 2), gap="medium")
    padding = fed_masked[None].repeat(len(fed), axis=0)
    reasons = {"it is padding": padding, "it comes later": ~opened.causal_mask}
    with mask:
        st.markdown("**The target mask**: which fed token may read which")
        figure = mask_figure(opened.target_mask[row, 0], fed, reasons, ROOM_OF_THE_MASK)
        alt = f"Target mask of sentence {row + 1}: padding mask and causal mask together"
        show_figure(figure, "batch_mask", alt)
    with text:
        st.markdown(
            "Blue cells are unmasked. All positions are trained at once, so no row may read what comes later (causal "
            "mask), and none padding (padding mask)."
        )
        st.markdown(plain(str(describe_masks(opened, row))))
        st.caption(plain("Shapes of the whole batch: " + describe_shapes(opened)))


def _positions(tokens: Sequence[str]) -> list[str]:
    return [str(position + 1) for position in range(len(tokens))]


def _yes_or_no(answers: Iterable[bool]) -> list[str]:
    return ["yes" if answer else "no" for answer in answers]


def _show_cost(both: dict[str, list[list[Example]]], way: str, ratio: float) -> None:
    """Show the padding ratio of every batch, and of all, for both ways."""
    ratios: dict[str, Sequence[float]] = {
        name: [count_padding(batch).ratio for batch in batches] for name, batches in both.items()
    }
    alt = "Share of padding in every batch, batched by length and at random"
    paddings = {name: count_padding(*batches) for name, batches in both.items()}
    see = describe_both_ways(paddings)
    show_figure(ratios_figure(ratios, (way, ratio)), "shares", alt, see)
    rows = [
        (name, [f"{len(both[name])}", *(f"{count:,}" for count in (p.cells, p.tokens, p.padding)), f"{p.ratio:.1%}"])
        for name, p in paddings.items()
    ]
    show_table("All batches, both ways", "batched", ("batches", "cells", "tokens", "padding", "share"), rows)
    attempt = "a smaller and a larger budget: what becomes of the share in either way?"
    show_finding(see, attempt)


def _show_effect_of_size(
    translator: Translator, examples: Sequence[Example], batches: list[list[Example]], budget: int, seed: int
) -> None:
    """Say that a sample as small as this one wastes more than a corpus does."""
    part = examples[: len(examples) // PART]
    if not part:
        return
    fewer = epoch_batches(part, budget, 0.0, translator.model.config.max_length, seed)
    pairs = translator.checkpoint.training.get("training_pairs")
    trained = pairs if isinstance(pairs, int) and not isinstance(pairs, bool) else None
    st.caption(plain(describe_size(len(part), count_padding(*fewer), len(examples), count_padding(*batches), trained)))


def describe_batch(batch: BatchView, padding: Padding, budget: int) -> Finding:
    """Say how large the batch is on both sides, how much of it is padding, and how the budget limits it."""
    sentences, source, target = (
        len(batch.source_tokens),
        len(batch.source_tokens[0]),
        len(batch.decoder_input_tokens[0]),
    )
    counts = sentences * max(source, target)
    alone = ", more than the budget: one sentence so long stands alone" if counts > budget else ""
    return Finding(
        f"{padding.padding:,} of {padding.cells:,} cells ({percent(padding.ratio)}) are padding, computed for nothing.",
        f"The source has {sentences} x {source} cells, the target {sentences} x {target}. The longer side counts for "
        f"the budget of {budget:,} tokens: {counts:,}{alone}.",
    )


def describe_both_ways(paddings: dict[str, Padding]) -> Finding:
    """Say what bucketing by length saves, for all batches of the sample."""
    (one, bucketed), (other, shuffled) = paddings.items()
    times = f"{shuffled.cells / bucketed.cells:.3g}"
    return Finding(
        f"Batched {other}, the same tokens take {'' if times == '1' else f'{times} times '}as many cells.",
        f"Of these {percent(shuffled.ratio)} are padding; batched {one}, {percent(bucketed.ratio)}.",
    )


def describe_size(part: int, part_padding: Padding, whole: int, whole_padding: Padding, trained: int | None) -> str:
    """Say how the padding changes with the number of pairs that are batched, in the sample itself."""
    few, all_of_it = (f"{padding.ratio * 100:.1f} %" for padding in (part_padding, whole_padding))
    had = "" if trained is None else f" Training had {trained:,} pairs."
    return (
        f"The more pairs there are, the more have the same length. Padding, bucketed by length: {few} with {part} of "
        f"these pairs, {all_of_it} with all {whole}.{had}"
    )


def describe_source(batch: BatchView, row: int) -> str:
    """Say what the source mask of one sentence hides, and from whom."""
    width, real = len(batch.source_tokens[row]), batch.source_lengths[row]
    return (
        f"{real} of {width} positions are tokens; the source mask hides the other {width - real} from every encoder "
        "and cross-attention head."
    )


def describe_shift(batch: BatchView, row: int) -> Finding:
    """Say what the first and the last step are fed and must predict, and what does not count."""
    steps, width = batch.target_lengths[row], len(batch.decoder_input_tokens[row])
    fed, following = batch.decoder_input_tokens[row], batch.target_tokens[row]
    text = (
        f"Fed {quoted(fed[0])}, predict {quoted(following[0])}; … fed {quoted(fed[steps - 1])}, predict "
        f"{quoted(following[steps - 1])}."
    )
    if steps < width:
        text += (
            f" The other {pluralize(width - steps, 'position')} would predict padding and count for nothing in the "
            f"loss: {quoted(fed[steps])} is fed only because the batch is wider."
        )
    return Finding(f"This sentence is {pluralize(steps, 'task')} at once.", text)
