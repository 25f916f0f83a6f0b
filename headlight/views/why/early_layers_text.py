"""Sentences on translations from early encoder layers, and on the parts of a logit."""

from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np

from headlight.plots.text import counted, kind_head_name, quoted, signed
from headlight.plots.why import part_names, part_sums
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.what_if.intervention import Heads
from transformer.interpret.what_if.logit_attribution import LogitAttribution


def layer_names(count: int) -> list[str]:
    """What the decoder reads: the embeddings, then each layer's output."""
    return ["embeddings", *(f"layer {layer}" for layer in range(1, count))]


def kept_places(ids: Sequence[int], last: Sequence[int]) -> set[int]:
    """The places of `ids` whose tokens stand in the last layer's translation, in the same order."""
    blocks = SequenceMatcher(None, ids, last, autojunk=False).get_matching_blocks()
    return {block.a + place for block in blocks for place in range(block.size)}


def describe_lens(found: Sequence[Hypothesis]) -> str:
    """From which layer on the decoder writes the final translation, and what it has of it from the embeddings."""
    names, last = layer_names(len(found)), found[-1].ids
    same = [one.ids == last for one in found]
    first = same.index(True)
    if first == len(found) - 1:
        text = "Only from the last layer does the decoder write this very translation"
    else:
        text = f"The decoder writes this very translation, token for token, already from {_the(names[first])}"
        others = [names[place] for place in range(first, len(found)) if not same[place]]
        if others:
            text += f", though not from {' and '.join(others)}"
    if same[0]:
        return f"{text}."
    kept, count = len(kept_places(found[0].ids, last)), len(last)
    return (
        f"{text}. From the embeddings, where no token has read another, it writes "
        f"{counted(len(found[0].ids), 'token')}, among them {kept} of the {count} in the same order"
        f"{'' if found[0].finished else ', and goes on'}."
    )


def _the(name: str) -> str:
    return "the embeddings" if name == "embeddings" else name


def logit_words(token: str, against: str | None) -> str:
    """What the parts add up to: "the model's logit of “▁a”", or its lead over that of another token."""
    lead = f" minus that of {quoted(against)}" if against is not None else ""
    return f"the model's logit of {quoted(token)}{lead}"


def describe_parts(found: LogitAttribution, what: str) -> str:
    """That the parts add up, which kind adds the most, and which single part and which head do."""
    names, sums = part_names(), part_sums(found)
    best = int(sums.argmax())
    kinds = {"decoder": found.decoder, "cross": found.cross}
    heads = [
        (float(values[place]), Heads(kind, *map(int, place)))
        for kind, values in kinds.items()
        for place in np.ndindex(values.shape)
    ]
    value, head = max(heads, key=lambda each: each[0])
    layer = int(found.feed_forward.argmax())
    text = f"All parts sum to {signed(found.total, 2)}, {what} ({signed(found.logit, 2)} in the run itself)."
    text += f" Of the kinds, {names[best]} adds the most, {signed(float(sums[best]), 2)}."
    text += f" Of the heads, {kind_head_name(head)} does: {signed(value, 2)};"
    return f"{text} of the feed-forwards, that of layer {layer + 1}: {signed(float(found.feed_forward[layer]), 2)}."
