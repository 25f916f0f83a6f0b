"""The explorer's facts and page for attention of any model, without what needs a model."""

import zlib

import numpy as np

from headlight.app.facts import STEPS, pack_facts, pattern_facts, pattern_words, to_steps
from headlight.app.finding import Templates
from headlight.components.standalone import Words, standalone
from transformer.interpret.attention_maps import CROSS, ENCODER, AttentionMaps, is_special
from transformer.interpret.head_patterns import LEAST_ROWS, HeadMeasures, Pattern
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

_LARGEST = np.iinfo(np.uint16).max
TEMPLATES = Templates.beside(__file__)


def maps_blob(maps: AttentionMaps, measured: dict[AttentionKind, list[HeadMeasures]]) -> bytes:
    """Return the facts that `explorer_blob` has of a trace, as far as there are any, and those of other models."""
    most = max(float(weights.max()) for weights in maps.maps.values())
    steps = STEPS if most * STEPS <= _LARGEST else _LARGEST / most
    arrays = {kind.value: to_steps(weights, steps) for kind, weights in maps.maps.items()}
    facts = {
        "id": f"{zlib.crc32(b''.join(part.tobytes() for part in arrays.values())):08x}",
        "steps": steps,
        "source_tokens": maps.source,
        "decoder_input_tokens": maps.target,
        "target_tokens": maps.outputs,
        "least_rows": LEAST_ROWS,
        # The first token counts as the beginning, be it a word or a part of an image.
        "pattern_words": pattern_words() | {Pattern.BEGINNING: (TEMPLATES.text("beginning"), TEMPLATES.text("start"))},
        "patterns": {kind: pattern_facts(heads) for kind, heads in measured.items()},
        "alone": maps.maps.keys() == {ENCODER},
        "causal": {kind: maps.is_causal(kind) for kind in maps.maps},
        "row_sums": {kind: maps.row_sums(kind) for kind in maps.maps},
        "heads_per_layer": {kind: heads for kind, heads in maps.heads.items() if len(set(heads)) > 1},
        "specials": sorted(filter(is_special, {*maps.source, *maps.target, *(maps.outputs or ())})),
    }
    return pack_facts(facts, arrays)


def maps_page(maps: AttentionMaps) -> str:
    """Return one HTML file with the explorer of these maps; it begins with a head of a plain pattern."""
    measured = {kind: maps.measure(kind) for kind in maps.maps}
    kind = CROSS if CROSS in measured else next(iter(measured))
    head = max((head for head in measured[kind] if head.head < maps.heads[kind][head.layer]), key=_plainness)
    words = Words(**{name: TEMPLATES.text(name) for name in ("title", "look_for", "made_from")})
    choice = {"head": Head(kind, head.layer, head.head).address}
    return standalone("attention_explorer/explorer", maps_blob(maps, measured), words, choice)


def _plainness(head: HeadMeasures) -> tuple[bool, float]:
    """Return what sorts heads: many heads rest on the first or the last token, which says little."""
    return head.label not in (None, Pattern.BEGINNING, Pattern.END), head.confidence
