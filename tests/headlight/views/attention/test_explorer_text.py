"""The explorer's sentences on a head, spelled out for measures made by hand: every branch of each."""

import numpy as np

from headlight.plots.text import KIND_NAMES
from headlight.views.attention.explorer_text import MEASURES, PATTERNS, explorer_words, look_words, role_words, rules
from transformer.interpret.head_patterns import HeadMeasures, Pattern, Share
from transformer.interpret.head_roles import HeadRoles
from transformer.model.names import AttentionKind

EMPTY = {pattern: Share() for pattern in Pattern}


def head(label=None, confidence=0.876, tied=False, **rows) -> HeadMeasures:
    """Head 3 of layer 2; `rows`: for each pattern how many rows follow it, of 10."""
    counts = EMPTY | {Pattern[name.upper()]: Share(count, 10) for name, count in rows.items()}
    return HeadMeasures(AttentionKind.ENCODER, 1, 2, counts, 1.0, confidence, label, tied)


def roles(sentences: int) -> HeadRoles:
    """A corpus in whose first sentence alone the head has the label "next"."""
    labelled = np.zeros((2, 3, len(Pattern)), dtype=int)
    labelled[1, 2, list(Pattern).index(Pattern.NEXT)] = 1
    return HeadRoles("made", sentences, {AttentionKind.ENCODER: labelled}, {}, {})


def test_a_labelled_head_is_told_with_threshold_rows_and_corpus():
    chosen = head(Pattern.NEXT, next=9)
    assert look_words(chosen) == (
        "Layer 2, head 3, labelled next (from 90 % on): in 9 of the 10 rows that could (90 %) the largest weight "
        "is on the token after; a row's largest weight, </s> aside, is 0.88 on average."
    )
    assert look_words(chosen, roles(8)) == (
        "Layer 2, head 3, labelled next (from 90 % on): in 9 of the 10 rows that could (90 %) the largest weight "
        "is on the token after (it has this label in 12 % of 8 sentences); a row's largest weight, </s> aside, is "
        "0.88 on average."
    )


def test_how_often_a_head_has_its_label_is_told_where_both_are_known():
    assert role_words(head(Pattern.NEXT, next=9), roles(1)) == "it has this label in 100 % of 1 sentence"
    assert role_words(head(Pattern.NEXT, next=9), roles(1200)) == "it has this label in under 1 % of 1,200 sentences"
    assert role_words(head(), roles(1)) == "" and role_words(head(Pattern.NEXT, next=9), None) == ""


def test_a_head_without_a_label_is_told_by_the_pattern_nearest_to_its_threshold():
    assert look_words(head()) == (
        "Layer 2, head 3 has no clear pattern; a row's largest weight, </s> aside, is 0.88 on average."
    )
    assert look_words(head(next=5)) == (
        "Layer 2, head 3 has no clear pattern; a row's largest weight, </s> aside, is 0.88 on average."
    )
    assert look_words(head(next=6)) == (
        "Layer 2, head 3 has no clear pattern: in 6 of the 10 rows that could (60 %) the largest weight is on the "
        "token after, too few for a label; a row's largest weight, </s> aside, is 0.88 on average."
    )
    assert look_words(head(previous=7, end=7)) == (
        "Layer 2, head 3 has no clear pattern: in 7 of the 10 rows that could (70 %) the largest weight is on the "
        "end of sentence </s>, too few for a label; a row's largest weight, </s> aside, is 0.88 on average."
    )


def test_a_head_that_two_equal_maxima_keep_from_its_label_says_so():
    assert look_words(head(next=9, tied=True)) == (
        "Layer 2, head 3 has no clear pattern: in 9 of the 10 rows that could (90 %) the largest weight is on the "
        "token after, but a row has two equal maxima; a row's largest weight, </s> aside, is 0.88 on average."
    )


def test_an_average_weight_is_not_rounded_to_1():
    weights = (0.9949, 0.995, 0.9999, 1.0)
    said = [look_words(head(confidence=weight)).partition("aside, is ")[2] for weight in weights]
    assert said == ["0.99 on average.", "over 0.99 on average.", "over 0.99 on average.", "1.00 on average."]


def test_each_pattern_has_its_rule_among_the_others():
    assert rules()[0] == (
        "Measured in this sentence alone, with its special tokens. Rows with a single unmasked key are left out."
    )
    assert rules()[1] == (
        "A head has the first of these labels whose threshold it reaches, over at least 3 rows that could (6 for "
        "mirrored); any other head has no clear pattern, nor has one with two equal maxima in a row."
    )
    assert rules()[2:11] == [
        "previous: at least 90 % of its rows have their largest weight on the token before.",
        "same: at least 90 % of its rows have their largest weight on the row's own token, for a decoder row its input "
        "token.",
        "next: at least 90 % of its rows have their largest weight on the token after.",
        "mirrored: at least 90 % of its rows have their largest weight on one line parallel to the antidiagonal.",
        "end of sentence: at least 80 % of its rows have their largest weight on the end of sentence </s>.",
        "beginning of sentence: at least 80 % of its rows have their largest weight on the beginning of sentence.",
        "punctuation: at least 80 % of its rows have their largest weight on a punctuation mark.",
        "alignment: at least 80 % of its rows have their largest weight on the source word aligned with the row's "
        "output token.",
        "input alignment: at least 80 % of its rows have their largest weight on the source word aligned with the "
        "row's input token.",
    ]
    assert rules()[11] == (
        "Both alignments: the source word aligned with a token is the one on which the average of all "
        "cross-attention heads puts most in the row that predicts the token. It is what this sentence's own heads "
        "agree on; no reference alignment is known. Special tokens and punctuation are left out."
    )
    assert rules()[12] == (
        "A label holds for this sentence; how often a head has it over a corpus is said beside it, where that was "
        "measured (python -m transformer heads)."
    )
    assert rules()[13] == (
        "confidence: the mean of the rows' largest weights, the end of sentence left out (Voita et al. 2019, 4)."
    )
    assert rules()[14] == (
        "entropy: the mean over rows of −Σ w ln w, in nats: 0 for a single key, ln n for equal weights on n keys."
    )
    assert rules()[15] == (
        "Voita et al. 2019 (5.1) call a head positional whose largest weights are, over a corpus, to 90 % on the "
        "token before, or to 90 % on the one after; the other patterns and thresholds are ours."
    )
    assert rules()[16] == (
        "Where a sentence has more tokens than a thumbnail has dots, several cells share one: it shows the largest."
    )
    assert len(rules()) == 17


def test_all_texts_stand_under_the_names_that_the_explorer_reads():
    words = explorer_words()
    assert list(words) == ["kinds", "told", "patterns", "measures", "rules"] and list(words["told"]) == list(KIND_NAMES)
    assert (words["kinds"], words["patterns"], words["measures"]) == (KIND_NAMES, PATTERNS, MEASURES)
    assert words["rules"] == rules()
