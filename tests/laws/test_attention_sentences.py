"""Laws of the explorer's sentences: what is said of a head is so in its weights, counted here row by row."""

import json
import re
from functools import cache

import numpy as np
from support.claims import PERCENT, as_percent, as_printed
from support.head_rows import COUNTED, Head, thresholds
from support.streams import KINDS
from support.traced import CHECKPOINT, traces, translator

from headlight.plots.names import head_name
from headlight.views.attention.explorer_content import describe_map, look_words, role_words
from transformer.corpus.head_roles import load_roles
from transformer.interpret.head_patterns import Pattern, measure_heads
from transformer.interpret.trace import attention_map, masked_maps


@cache
def every_head():
    """Each head of each sentence: as the explorer measures it, and by hand."""
    found = []
    for trace in traces():
        average = trace.cross.astype(np.float64).mean(axis=(0, 1))
        for kind in KINDS:
            keys = trace.decoder_input_tokens if kind == "decoder" else trace.source_tokens
            for head in measure_heads(kind, masked_maps(trace, kind), keys, trace.target_tokens):
                weights = getattr(trace, kind)[head.layer, head.head]
                found.append((head, Head(kind, weights, keys, trace.target_tokens, average)))
    return found


def label_by_hand(own):
    """The first label whose threshold the rules, as they are written, let a head reach; and its words."""
    reached = (
        (name, words)
        for name, (words, least, rows) in thresholds().items()
        for follow, could in [own.count(words)]
        if could >= rows and follow / could >= least
    )
    return (None, None) if own.tied() else next(reached, (None, None))


def check(text, name, own, label, words):
    """Whether a sentence says of a head by hand what it does."""
    sharp = np.mean([row[[k != "</s>" for k in own.keys[: len(row)]]].max() for row in own.rows.values()] or [0])
    assert as_printed(
        re.search(r"a row's largest weight, the end of sentence aside, is ([\d.]+) on average\.$", text)[1], sharp
    )
    if label is None:
        assert text.startswith(f"{name} has no clear pattern;")
        return
    counted = COUNTED.search(text)
    follow, could = own.count(words)
    assert text.startswith(words, counted.end())
    assert (int(counted[1].replace(",", "")), int(counted[2].replace(",", ""))) == (follow, could), text
    assert as_percent(counted[4], follow / could)
    assert bool(counted[3]) or could == len(own.rows)
    assert text.startswith(f"{name}, labelled {label} (from {100 * thresholds()[label][1]:.0f} % on): in ")


def test_every_head_has_the_label_and_the_sentence_of_its_rows():
    assert set(thresholds()) == {str(pattern) for pattern in Pattern}
    spoken = set()
    for head, own in every_head():
        label, words = label_by_hand(own)
        assert head.label == label, (head.kind, head.layer, head.head)
        check(look_words(head), f"Layer {head.layer + 1}, head {head.head + 1}", own, label, words)
        spoken.add(label)
    assert len(spoken) >= 6, "the sentences show most patterns"


def test_what_is_said_of_an_average_is_so_in_its_rows():
    seen = set()
    for trace in traces():
        for kind in KINDS:
            keys = trace.decoder_input_tokens if kind == "decoder" else trace.source_tokens
            for layer in (2, None):
                maps = getattr(trace, kind)
                own = Head(kind, maps[slice(None) if layer is None else [layer]].mean(axis=(0, 1)), keys, ())
                label, words = label_by_hand(own)
                name = head_name(layer, None, 3, 8)
                check(describe_map(attention_map(trace, kind, layer)), name[0].upper() + name[1:], own, label, words)
                seen.add(label)
    assert None in seen and len(seen) > 2


def test_two_equal_maxima_keep_a_head_from_a_label_and_a_row_that_cannot_follow_is_not_counted():
    weights = np.full((5, 5), 0.1)
    weights[np.arange(5), np.arange(5)] = 0.6
    assert measure_heads("encoder", weights[None, None], tuple("abcde"))[0].label == Pattern.SAME
    weights[0] = [0.4, 0.4, 0.1, 0.05, 0.05]
    (head,) = measure_heads("encoder", weights[None, None], tuple("abcde"))
    assert "has no clear pattern" in look_words(head)
    keys = ("<s>", ".", "b", ",", "c", "d", "e", "f", "g")
    weights = np.where(np.tri(9, dtype=bool), 0.01, np.nan)
    weights[range(9), [0, 1, 1, 3, 3, 3, 3, 3, 3]] = 0.5
    (head,) = measure_heads("decoder", weights[None, None], keys)
    assert "in 8 of the 8 rows (100 %) the largest weight is on a punctuation mark" in look_words(head)


def test_how_often_a_head_has_its_label_is_what_the_file_beside_the_weights_counts():
    roles = load_roles(CHECKPOINT / "heads.json", translator().model)
    written = json.loads((CHECKPOINT / "heads.json").read_text())
    told = 0
    for head, _ in every_head():
        text = role_words(head, roles)
        assert bool(text) == (head.label is not None) and role_words(head, None) == ""
        if text:
            counted = written["labelled"][head.kind][head.layer][head.head].get(head.label, 0)
            said = re.fullmatch(
                rf"it has this label in ({PERCENT}) of ([\d,]+) sentence pairs, their references fed", text
            )
            assert int(said[2].replace(",", "")) == written["sentences"]
            assert as_percent(said[1], counted / written["sentences"]) and f"({text})" in look_words(head, roles)
            told += 1
    assert told > 300
