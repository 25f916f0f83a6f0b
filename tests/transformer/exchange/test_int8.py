"""Weights as bytes for the browser: their rounding, and refusals."""

import numpy as np
import pytest
from support.models import small_model

from transformer.checkpoint import Checkpoint
from transformer.data.tokenizer import Tokenizer
from transformer.errors import CheckpointError
from transformer.exchange import int8
from transformer.exchange.int8 import pack, pack_weights, quantize


def test_each_weight_is_within_half_a_step_of_its_row():
    matrix = np.random.default_rng(1).normal(size=(7, 5)).astype(np.float32)
    matrix[3] = 0
    whole, scales = quantize(matrix)
    assert whole.dtype == np.int8 and np.abs(whole).max(axis=1).tolist() == [127, 127, 127, 0, 127, 127, 127]
    assert (np.abs(whole * scales[:, None] - matrix) <= scales[:, None] * 0.5001).all()


def test_a_model_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(int8, "MOST_WEIGHTS", 1000)
    with pytest.raises(CheckpointError, match=r"^This model cannot run in a browser: it has [0-9,]+ weights, more"):
        pack_weights(small_model())


CHANGES = {
    "words as pieces": lambda proto: setattr(proto.trainer_spec, "model_type", proto.trainer_spec.WORD),
    "another normaliser": lambda proto: setattr(proto.normalizer_spec, "name", "nmt_nfkc_cf"),
    "blanks that are kept": lambda proto: setattr(proto.normalizer_spec, "remove_extra_whitespaces", False),
    "no blank before a text": lambda proto: setattr(proto.normalizer_spec, "add_dummy_prefix", False),
    "pieces of more than a word": lambda proto: setattr(proto.pieces[9], "piece", "a\u2581b"),
    "pieces that a user has defined": lambda proto: setattr(proto.pieces[9], "type", 4),
    "pieces in another order": lambda proto: setattr(proto.pieces[9], "score", 0.0),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_tokenizer_that_the_browser_does_not_know_is_refused(change, tokenizer):
    model = small_model(vocab_size=len(tokenizer))
    assert pack(Checkpoint(model, tokenizer))[0]["tokenizer"]["controls"] == [0, 2, 3]
    change(proto := tokenizer.proto)
    with pytest.raises(CheckpointError, match="^This model cannot run in a browser: its tokenizer "):
        pack(Checkpoint(model, Tokenizer(proto.SerializeToString())))
