"""The head that is shown fits the sentence that is shown: no other aligns it better, counted here row by row."""

import numpy as np
import pytest
from support.head_rows import word

from transformer.corpus.head_roles import ROLES_FILE, HeadRoles, load_roles, plainest_head

SENTENCES = 40


def aligned_rows(trace) -> np.ndarray:
    """Count the rows of words in which a head looks most at the word of all heads' mean weight: [layers, heads]."""
    together = trace.cross.astype(np.float64).mean(axis=(0, 1))
    words = [key for key, token in enumerate(trace.source_tokens) if word(token)]
    counted = np.zeros(trace.cross.shape[:2], dtype=int)
    for row, token in enumerate(trace.target_tokens):
        if not (words and word(token)):
            continue
        best = max(words, key=lambda key: together[row, key])
        for layer, head in np.ndindex(counted.shape):
            counted[layer, head] += int(np.argmax(trace.cross[layer, head, row])) == best
    return counted


@pytest.fixture(scope="module")
def roles(checkpoints, shipped) -> HeadRoles:
    return load_roles(checkpoints / "en-de" / ROLES_FILE, shipped.model)


def test_no_other_head_aligns_the_sentence_better_than_the_one_that_is_shown(checkpoints, shipped, roles):
    lines = (checkpoints / "en-de" / "samples.tsv").read_text(encoding="utf-8").splitlines()[:SENTENCES]
    other_heads = 0
    for trace in shipped.trace_many([line.split("\t")[0] for line in lines]):
        layer, head = plainest_head(trace, "cross", roles)
        counted, rows = aligned_rows(trace), sum(map(word, trace.target_tokens))
        if rows >= 3:  # with fewer, anything looks like a pattern, and the corpus decides
            assert counted[layer, head] == counted.max(), trace.source_text
        other_heads += (layer, head) != roles.default_head("cross")
    assert other_heads > SENTENCES / 10, "the sentence decides"


def test_of_heads_that_align_a_sentence_alike_the_corpus_decides(shipped, roles):
    trace = shipped.trace("Yes.")
    assert sum(map(word, trace.target_tokens)) < 3
    assert plainest_head(trace, "cross", roles) == roles.default_head("cross")
