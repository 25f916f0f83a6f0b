"""Alignments by every head of cross-attention, by means of heads, norms and ALTI+, in one pass a sentence."""

import logging
from collections.abc import Callable

import numpy as np

from ...arrays import to_array
from ...data.pairs import SkippedLines
from ...data.tokenizer import TextTokenizer
from ...errors import DataError, EmptyTextError, TooLongError
from ...interpret.activations import record
from ...interpret.attention_block import block_parameters, stages_of
from ...interpret.attribution import shares, summed_value_norms
from ...interpret.rollout import ALTI_REQUEST, alti_of
from ...model.names import AttentionKind
from ...model.transformer import Transformer
from .aligners import MARKS, Aligner, AlignmentCounts, aligners_of
from .gold import GoldPair, GoldSet, Link
from .links import Direction, Reading, count_links, find_links, find_symmetric_links, link_table
from .words import TokenizedPair, Words, is_mark, join_words, tokenize_pair

logger = logging.getLogger(__name__)


def alignment_maps(model: Transformer, pair: TokenizedPair) -> np.ndarray:
    """Return the maps of all `aligners_of` a model in a teacher-forced pass: [aligners, target, source]."""
    seen = record(model, [pair.source_ids], [pair.decoder_input], ALTI_REQUEST)
    kind, layers = AttentionKind.CROSS, range(len(model.decoder))
    weights = to_array(seen.weights(kind))[:, 0].astype(np.float64)  # layers heads target source
    blocks = ((stages_of(model, seen, kind, layer), block_parameters(model, kind, layer)) for layer in layers)
    norms = np.stack([shares(summed_value_norms(*block))[0] for block in blocks])
    contributions = alti_of(model, seen).across[:, :, : weights.shape[-1]]
    means = weights.mean(axis=1)
    each = weights.reshape(-1, *weights.shape[2:])
    return np.concatenate([each, means, means.mean(axis=0)[None], norms, norms.mean(axis=0)[None], contributions])


def measure_alignment(
    model: Transformer,
    tokenizer: TextTokenizer,
    gold: GoldSet,
    *,
    languages: tuple[str, str] = ("", ""),
    spaced: bool = False,
    progress: Callable[[int], None] | None = None,
) -> AlignmentCounts:
    """Count the links of a gold set that every aligner finds, each pair teacher-forced on its target.

    languages: target's and source's of a model that reads them; spaced: see `join_words`. A pair that is too long for
    the model is left out, and named in the log. Raises DataError where none is left. `progress` is called after each
    sentence with the number of sentences done.
    """
    counts, lines, skipped = [], [], SkippedLines()
    for done, pair in enumerate(gold.pairs, start=1):
        source, target = (join_words(words, spaced=spaced) for words in (pair.source, pair.target))
        tokenized = tokenize_pair(tokenizer, source, target, languages)
        if tokenized.length > model.config.max_length:
            skipped.add(f"longer than {model.config.max_length} tokens a side", pair.line)
        else:
            counts.append(_count(alignment_maps(model, tokenized), tokenized, pair))
            lines.append(pair.line)
        if progress:
            progress(done)
    if not counts:
        raise DataError(f"No pair of the gold set {gold.name} fits the model: {skipped.report()}.")
    if skipped:
        logger.warning("%s: left out %s", gold.name, skipped.report())
    return AlignmentCounts(gold.name, aligners_of(model), tuple(lines), np.stack(counts))


def _count(maps: np.ndarray, tokenized: TokenizedPair, pair: GoldPair) -> np.ndarray:
    """Count one sentence: [aligners, readings, marks, counts]. Without marks they can be neither linked nor chosen."""
    sizes = len(pair.source), len(pair.target)
    sure, possible = (link_table(links, *sizes) for links in (pair.sure, pair.possible))
    words = [np.array([not is_mark(word) for word in side]) for side in (pair.source, pair.target)]
    counted = []
    for marks in MARKS:
        of_source, of_target = (np.ones_like(side) if marks else side for side in words)
        inside = of_target[:, None] & of_source
        by_reading = (
            find_links(maps, tokenized.target & of_target, tokenized.source & of_source, reading) for reading in Reading
        )
        counted.append(np.stack([count_links(links, sure & inside, possible & inside) for links in by_reading], axis=1))
    return np.stack(counted, axis=2)


def align_words(
    model: Transformer,
    tokenizer: TextTokenizer,
    source: Words,
    target: Words,
    aligner: Aligner,
    reading: Reading | str = Reading.INPUT,
    languages: tuple[str, str] = ("", ""),
    direction: Direction | str = Direction.TARGET,
) -> list[Link]:
    """Align the words of a sentence with those of a translation: (source word, target word), both from 0.

    Raises ValueError for an aligner that the model does not have, EmptyTextError for a side without words, and
    TooLongError for one of more tokens than the model has positions.
    """
    known = aligners_of(model)
    if aligner not in known:
        raise ValueError(f"the model has no {aligner}")
    pair = tokenize_pair(tokenizer, source, target, languages)
    for side, words, ids in (("source", source, pair.source_ids), ("target", target, pair.target_ids)):
        if not words.spans:
            raise EmptyTextError(f"The {side} has no word.")
        if len(ids) > model.config.max_length:
            raise TooLongError(f"The {side} has {len(ids)} tokens; the model has {model.config.max_length}.")
    chosen = alignment_maps(model, pair)[known.index(aligner)]
    links = find_symmetric_links(chosen, pair.target, pair.source, reading, direction)
    return [(int(of_source), int(of_target)) for of_target, of_source in np.argwhere(links)]
