"""Shares of weight on keys without content, and maps of the other keys: laws, and values by hand."""

import numpy as np
import pytest

from transformer.interpret.content import SORTS, content_only, has_content, is_language, special_share
from transformer.model.names import AttentionKind


def test_each_sort_of_key_is_known():
    keys = [">>deu<<", "__de__", "deu_Latn", "de_DE", "▁I", "▁,", "'", "<s>", "<pad>", "</s>", "Lat", "<unk>"]
    assert [is_language(key) for key in keys] == [True] * 4 + [False] * 8
    assert has_content(keys).tolist() == [key in ("▁I", "Lat", "<unk>") for key in keys]


def test_shares_and_maps_by_hand():
    weights = np.array([[[[0.1, 0.2, 0.3, 0.4], [0.0, 0.0, 0.5, 0.5]]]], dtype=np.float32)
    maps = {AttentionKind.CROSS: (weights, ("deu_Latn", "▁so", ".", "</s>"))}
    share = special_share(maps)
    by_sort = dict(zip(SORTS, share.by_kind[AttentionKind.CROSS][0, 0], strict=True))
    assert by_sort == pytest.approx({"end": 0.45, "begin": 0, "language": 0.05, "punctuation": 0.4})
    content = content_only(maps)
    np.testing.assert_allclose(content.weights[AttentionKind.CROSS][0, 0], [[0, 1, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_allclose(content.removed[AttentionKind.CROSS][0, 0], [0.8, 1], atol=1e-6)


@pytest.mark.parametrize("kind", AttentionKind)
def test_the_weights_that_are_kept_are_the_content_keys_own(translator, kind):
    trace = translator.trace("big red dog.")
    content, share = trace.content_only(), trace.special_share()
    removed = content.removed[kind]
    np.testing.assert_allclose(removed.mean(axis=-1), share.total(kind), atol=1e-6)
    keys = trace.decoder_input_tokens if kind == AttentionKind.DECODER else trace.source_tokens
    back = content.weights[kind] * (1 - removed)[..., None]
    np.testing.assert_allclose(back, trace.attention(kind) * has_content(keys), atol=1e-6)
