"""Laws of the explorer's captions: what is said of a head is so in its weights, counted here row by row."""

import json
import re
from functools import cache

import numpy as np
from support.head_rows import COUNTED, Head, thresholds
from support.traced import CHECKPOINT, traces, translator

from headlight.views.attention.explorer_text import explorer_words, look_words, role_words
from transformer.interpret.head_patterns import Pattern, measure_heads
from transformer.interpret.head_roles import load_roles
from transformer.interpret.trace import masked_maps

KINDS = ("encoder", "decoder", "cross")


@cache
def every_head():
    """Each head of each sentence: as the explorer measures it, and by hand."""
    found = []
    for trace in traces():
        average = trace.cross.astype(np.float64).mean(axis=(0, 1))
        for kind in KINDS:
            keys = trace.fed_tokens if kind == "decoder" else trace.source_tokens
            for head in measure_heads(kind, masked_maps(trace, kind), keys, trace.next_tokens):
                weights = getattr(trace, kind)[head.layer, head.head]
                found.append((head, Head(kind, weights, keys, trace.next_tokens, average)))
    return found


def test_the_rules_as_written_give_every_head_its_label():
    labels = thresholds()
    assert set(labels) == {str(pattern) for pattern in Pattern}
    for head, own in every_head():
        reached = (
            name
            for name, (words, least, rows) in labels.items()
            for follow, could in [own.count(words)]
            if could >= rows and follow / could >= least
        )
        assert head.label == (None if own.tied() else next(reached, None)), (head.kind, head.layer, head.head)


def test_what_is_said_of_a_head_is_so_in_its_weights():
    labels, least_noted, spoken = thresholds(), 0.6, set()
    for head, own in every_head():
        text = look_words(head)
        assert text.startswith(f"Layer {head.layer + 1}, head {head.head + 1}")
        sharp = np.mean([row[[k != "</s>" for k in own.keys[: len(row)]]].max() for row in own.rows.values()] or [0])
        said = re.search(r"a row's largest weight, </s> aside, is (over 0\.99|[\d.]+) on average\.$", text)[1]
        assert sharp >= 0.995 if said == "over 0.99" else abs(float(said) - sharp) <= 0.005 + 1e-6
        assert said != "1.00" or sharp == 1
        counted = COUNTED.search(text)
        if not counted:
            assert "no clear pattern" in text
            for words, _, rows in labels.values():
                follow, could = own.count(words)
                assert could < rows or follow / could < least_noted, text
            continue
        (pattern,) = (words for words, *_ in labels.values() if text.startswith(words, counted.end()))
        follow, could = own.count(pattern)
        assert (int(counted[1].replace(",", "")), int(counted[2].replace(",", ""))) == (follow, could), text
        exact = 100 * follow / could
        assert (
            exact >= 99.5 and follow < could if counted[4] == "over 99 %" else abs(int(counted[4][:-2]) - exact) <= 0.5
        )
        if counted[3]:  # of each of these rows the pattern's cell is there to be read
            assert all(
                0 <= place < len(own.rows[row]) for row, places in own.wanted(pattern).items() for place in places
            )
        else:
            assert could == len(own.rows)
        (share,) = (least for words, least, _ in labels.values() if words == pattern)
        if "no clear pattern" in text:  # it is the pattern that comes closest to its threshold
            others = [(own.count(words), least, rows) for words, least, rows in labels.values()]
            close = max(f / could / least for (f, could), least, rows in others if could >= rows)
            assert follow / could / share >= close - 1e-9
        if "too few for a label" in text:
            assert follow / could < share
        elif "no clear pattern" in text:
            assert "but a row has two equal maxima" in text and own.tied() and follow / could >= share
        else:
            assert follow / could >= share and not own.tied()
            named = next(name for name, (words, *_) in labels.items() if words == pattern)
            assert f", labelled {named} (from {100 * share:.0f} % on): in " in text
        spoken.add(pattern)
    assert len(spoken) >= 6, "the sentences show most patterns"


def test_a_tie_is_said_only_where_it_keeps_a_head_from_its_label():
    keys = ("a", "b", "c", "d", "e")
    weights = np.full((5, 5), 0.1)
    weights[np.arange(5), np.arange(5)] = 0.6
    weights[0] = [0.4, 0.4, 0.1, 0.05, 0.05]  # the tie is in a row that counts as following the pattern
    (head,) = measure_heads("encoder", weights[None, None], keys)
    assert "in 5 of the 5 rows that could (100 %)" in look_words(head) and "but a row has two equal" in look_words(head)
    weights[3:] = np.roll(weights[3:], 1, axis=1)
    (head,) = measure_heads("encoder", weights[None, None], keys)
    assert head.tied and "in 3 of the 5 rows that could (60 %)" in look_words(head) and "too few" in look_words(head)


def test_no_row_is_said_to_be_able_to_follow_a_pattern_that_it_cannot():
    keys = ("<s>", "a", "b", ".", "c", "d", "e", "f", "g")
    weights = np.where(np.tri(9, dtype=bool), 0.01, np.nan)
    for row in range(9):
        weights[row, 3 if row >= 3 else 0] = 0.5  # rows 1 and 2 have no full stop to read
    (head,) = measure_heads("decoder", weights[None, None], keys)
    assert "in 6 of the 8 rows (75 %) the largest weight is on a punctuation mark" in look_words(head)


def test_how_often_a_head_has_its_label_is_what_the_file_beside_the_weights_counts():
    roles, written = (
        load_roles(CHECKPOINT / "heads.json", translator().model),
        json.loads((CHECKPOINT / "heads.json").read_text()),
    )
    told = 0
    for head, _ in every_head():
        text = role_words(head, roles)
        assert bool(text) == (head.label is not None) and role_words(head, None) == ""
        if not text:
            continue
        counted = written["labelled"][head.kind][head.layer][head.head].get(head.label, 0)
        said = re.fullmatch(r"it has this label in (.+) of ([\d,]+) sentences?", text)
        assert int(said[2].replace(",", "")) == written["sentences"]
        exact, bounds = 100 * counted / written["sentences"], {"under 1 %": (0, 1), "over 99 %": (99, 100)}
        low, high = bounds.get(said[1]) or (int(said[1][:-2]) - 0.5, int(said[1][:-2]) + 0.5)
        assert low <= exact <= high and f"({text})" in look_words(head, roles)
        told += 1
    assert told > 300


def test_each_row_of_weights_sums_to_one_and_blank_cells_are_the_later_tokens():
    told = explorer_words()["told"]
    assert all("a row's weights sum to 1" in told[kind] for kind in KINDS)
    for trace in traces():
        for kind in KINDS:
            maps = getattr(trace, kind).astype(np.float64)
            np.testing.assert_allclose(maps.sum(axis=-1), 1, atol=1e-5)
        assert not np.triu(trace.decoder, 1).any() and np.tril(trace.decoder).any(axis=(0, 1)).sum() > 0
