"""Measures of one stack, beside the encoder-decoder of the run: its blocks, what a row can read, and what is kept."""

import numpy as np

from headlight.app.results import CheckpointFiles
from headlight.app.results.one_stack import find_one_stack, one_stack, traces
from headlight.lessons.answer import Answer, Option, Run, Undecided, measure, one_of, percentage
from headlight.plots.numbers import LEAST_SHOWN
from transformer.data.tokenizer import SPACE
from transformer.interpret.one_stack import BlockName, OneStackTrace, overlaps
from transformer.interpret.trace import Trace
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

from .wording import is_whole_word, readable

SAME = 1e-4  # weights of two passes over one row differ by less
_LETTERS = 4  # of words with a meaning of their own, mostly
_MODELS = {(True, True): "both", (True, False): "encoder", (False, True): "stack", (False, False): "neither"}


@measure
def empty_block(run: Run) -> Answer:
    """Ask which block of one stack's map has no weight in any head, by the largest weight of each block.

    names: heads, their number, source and written, the tokens of the two sides.
    """
    trace, _ = _traces(run)
    largest = {name: float(trace.block(name).weights.max()) for name in BlockName}
    empty = min(largest, key=largest.__getitem__)
    options = (Option(_key(name), value=value) for name, value in largest.items())
    source, written = len(trace.source_tokens), len(trace.decoder_input_tokens)
    heads = int(np.prod(trace.decoder.shape[:2]))
    return one_of(options, _key(empty), source=source, written=written, heads=heads)


@measure
def cross_block(run: Run) -> Answer:
    """Ask which block of one stack's map does the work of cross-attention.

    names: ours and theirs, the heads of the block and of cross-attention that have most weight in common, and common.
    """
    (trace, other), block = _traces(run), BlockName.TARGET_ON_SOURCE
    (right,) = (name for name in BlockName if name.kind is AttentionKind.CROSS)
    common = overlaps(trace, block, other.attention(AttentionKind.CROSS))
    layer, head, *indices = map(int, np.unravel_index(common.argmax(), common.shape))
    options = (Option(_key(name)) for name in BlockName)
    ours, theirs = Head(AttentionKind.DECODER, layer, head), Head(AttentionKind.CROSS, *indices)
    return one_of(options, _key(right), common=float(common.max()), ours=ours, theirs=theirs)


@measure
def reads_ahead(run: Run) -> Answer:
    """Ask in which model the row of an early source word reads later tokens, by the weights of both.

    names: word, of those in the first half the one that reads ahead most in the encoder, longer ones first; in_encoder
    and in_stack, what it gives to later tokens on average over all heads; after, the token behind it.
    """
    trace, tokens = _traces(run)[0], run.trace.source_tokens
    maps = (run.trace.attention(AttentionKind.ENCODER), trace.block(BlockName.SOURCE_ON_SOURCE).weights)
    ahead = [np.triu(each.mean(axis=(0, 1)), 1).sum(axis=-1) for each in maps]
    words = [at for at in range(len(tokens) // 2) if is_whole_word(tokens, at) and tokens.count(tokens[at]) == 1]
    if not words:
        raise Undecided("no_early_word")
    row = max(words, key=lambda at: (len(tokens[at].removeprefix(SPACE)) >= _LETTERS, ahead[0][at]))
    shares = [float(each[row]) for each in ahead]
    right = _MODELS[shares[0] >= LEAST_SHOWN, shares[1] >= LEAST_SHOWN]
    word, after = readable(tokens)[row : row + 2]
    options = (Option(name) for name in _MODELS.values())
    return one_of(options, right, in_encoder=shares[0], in_stack=shares[1], word=word, after=after)


@measure
def kept_rows(run: Run) -> Answer:
    """Ask how many rows of one stack stay as they are when the last token is fed, by a pass without it and one with it.

    names: length, the rows with the last one, kept, those without a change, and last, the token that is fed.
    """
    trace, _ = _traces(run)
    if len(trace.target_ids) < 3:
        raise Undecided("too_few_rows")
    before = one_stack(_beside(run)).trace(trace.source_text, target=trace.target_ids[:-1])
    length, source = len(trace.tokens), len(trace.source_tokens)
    changes = np.abs(trace.decoder[:, :, :-1, :-1] - before.decoder).max(axis=(0, 1, 3))
    unchanged = int((changes < SAME).sum())
    counts = {unchanged: "kept", source: "source", length: "all", 0: "none"}
    options = (Option(str(count), values={"count": count}, tells=name) for count, name in counts.items())
    return one_of(options, str(unchanged), length=length, kept=unchanged, last=readable(trace.tokens)[-1])


@measure
def share_of_source(run: Run) -> Answer:
    """Ask what percentage of the weight in rows of the translation goes to the source's tokens without its end.

    names: end and written, the shares of the source's end and of what was written, and heads, their number.
    """
    block = _traces(run)[0].block(BlockName.TARGET_ON_SOURCE)
    end = float(block.weights[..., -1].mean())
    return percentage(block.weight - end, end=end, written=1 - block.weight, heads=block.shares.size)


def _key(name: BlockName) -> str:
    return name.value.replace(" ", "_")


def _beside(run: Run) -> CheckpointFiles:
    """Return the one stack beside the run's checkpoint. Raises Undecided where there is none."""
    if stack := find_one_stack(run.request.checkpoint):
        return stack
    raise Undecided("no_one_stack")


def _traces(run: Run) -> tuple[OneStackTrace, Trace]:
    """Return the one stack's own translation with all weights, and the run's model on it. Raises Undecided."""
    return traces(run.request, _beside(run))
