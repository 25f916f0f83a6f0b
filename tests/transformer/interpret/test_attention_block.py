"""Inside attention: every stage that is shown equals what a reader computes from the checkpoint's file alone."""

from pathlib import Path

import numpy as np
import pytest
import torch
from support.by_hand import ByHand
from support.models import attention_blocks, random_sources, small_model
from support.tolerance import near
from torch.nn import functional as F

from transformer import Translator
from transformer.arrays import softmax
from transformer.interpret.attention_block import (
    BlockParameters,
    block_parameters,
    compute_stages,
    merge_heads,
    record_stages,
    split_heads,
    undivided,
)
from transformer.model.names import AttentionKind

ROOT = Path(__file__).parents[3]
SENTENCES = {
    "en-de": [
        "I love my teacher.",
        "The dog didn't eat because it was too old.",
        "Yes.",
        "Where is my cat?",
        "I think that he has never read this book.",
        "He bought a ticket at the train station.",
        "I can't swim, and I don't want to learn it.",
        "Tom lives in Boston with his three sisters.",
        "☃ Ærøskøbing 12,345!",
        " ".join(["we all sing and the birds sing too ,"] * 6) + " today.",
    ],
}
SENTENCES["en-fr"] = SENTENCES["en-de"]
SENTENCES["reverse"] = [
    "abc",
    "headlight",
    "x",
    "12345",
    "reverse me",
    "aaaa",
    "zyx wvu",
    "noon",
    "a b c d e f",
    "the quick brown fox",
]


@pytest.fixture(scope="module", params=SENTENCES)
def shipped(request) -> tuple[Translator, ByHand, list[str]]:
    folder = ROOT / "checkpoints" / request.param
    return Translator.load(folder, "cpu"), ByHand(folder), SENTENCES[request.param]


def test_every_stage_of_every_head_is_what_the_file_gives(shipped):
    translator, by_hand, sentences = shipped
    worst = 0.0
    for sentence in sentences:
        trace = translator.trace(sentence)
        by_hand.run(trace.source_ids, trace.decoder_input_ids)
        for (kind, layer), expected in by_hand.stages.items():
            shown = record_stages(translator.model, trace.source_ids, trace.decoder_input_ids, kind, layer)
            for name, array in expected.items():
                own = getattr(shown, name)[0]
                assert own.shape == array.shape, (kind, layer, name)
                worst = max(worst, np.abs(own - array).max() / np.abs(array).max())
    assert len(by_hand.stages) == sum(len(attention_blocks(translator.model, kind)) for kind in AttentionKind)
    assert 0 < worst < 1e-4


def test_by_hand_is_the_same_model(shipped):
    translator, by_hand, sentences = shipped
    trace = translator.trace(sentences[1])
    logits = by_hand.run(trace.source_ids, trace.decoder_input_ids)
    with torch.inference_mode():
        own = translator.model(torch.tensor([trace.source_ids]), torch.tensor([trace.decoder_input_ids]))[0].numpy()
    assert np.abs(own - logits).max() / np.abs(logits).max() < 1e-4


def test_the_weights_are_those_of_the_trace(translator):
    trace = translator.trace("a b c", target="c b a")
    for kind in AttentionKind:
        for layer, maps in enumerate(trace.attention(kind)):
            shown = record_stages(translator.model, trace.source_ids, trace.decoder_input_ids, kind, layer)
            assert np.array_equal(shown.weights[0], maps)


def test_watching_a_block_changes_nothing_and_leaves_nothing():
    model, source, fed = small_model(3), random_sources(7)[0], [2, 9, 8]
    before = model(torch.tensor([source]), torch.tensor([fed]))
    record_stages(model, source, fed, "cross", 0)
    assert not any(module._forward_hooks for module in model.modules())
    assert torch.equal(before, model(torch.tensor([source]), torch.tensor([fed])))


@pytest.mark.parametrize("kind, layer", [("encoder", 2), ("cross", -1), ("both", 0)])
def test_a_block_that_is_not_there_is_refused(kind, layer):
    model = small_model()
    with pytest.raises(ValueError):
        record_stages(model, [4, 3], [2], kind, layer)
    with pytest.raises(ValueError):
        block_parameters(model, kind, layer)


def test_a_model_in_training_mode_is_refused():
    with pytest.raises(ValueError, match="eval"):
        record_stages(small_model().train(), [4, 3], [2], "encoder", 0)


def test_a_row_without_an_open_key_is_what_the_fused_kernel_makes_of_it():
    generator = np.random.default_rng(1)
    x, parts = generator.normal(size=(2, 3, 8)), [generator.normal(size=(8, 8)) for _ in range(4)]
    parameters = BlockParameters(*parts, *[generator.normal(size=8) for _ in range(6)], 1e-5, 2, "post")
    unmasked = np.ones((2, 3, 3), dtype=bool)
    unmasked[1, 2] = False
    stages = compute_stages(x, None, unmasked, parameters)
    assert not stages.weights[1, :, 2].any() and np.allclose(stages.weights[0].sum(-1), 1)
    split = [torch.tensor(split_heads(part, 2)) for part in (stages.query, stages.key, stages.value)]
    fused = F.scaled_dot_product_attention(*split, attn_mask=torch.tensor(unmasked)[:, None]).numpy()
    assert np.allclose(merge_heads(fused), stages.concatenated)
    assert np.isfinite(stages.result).all()


def test_heads_split_and_merge_without_loss_and_refuse_a_remainder():
    x = np.arange(2 * 3 * 8).reshape(2, 3, 8)
    heads = split_heads(x, 4)
    assert heads.shape == (2, 4, 3, 2) and heads[1, 2, 0].tolist() == x[1, 0, 4:6].tolist()
    assert np.array_equal(merge_heads(heads), x)
    with pytest.raises(ValueError, match="num_heads"):
        split_heads(x, 3)


def test_large_scores_do_not_overflow():
    weights = softmax(np.array([[1e6, 1e6 - 1, -1e6]]), np.array([[True, True, True]]))
    assert np.allclose(weights, [[1 / (1 + np.exp(-1)), 1 / (1 + np.e), 0]])


def test_the_undivided_weights_are_softmax_of_the_products_themselves():
    stages = record_stages(small_model(), random_sources(7)[0], [2, 5, 9, 11, 4], "decoder", 1)
    without, divided = undivided(stages, 3)
    powers = np.exp(stages.products[0, 3].astype(np.float64)) * np.tri(5)
    np.testing.assert_allclose(without, powers / powers.sum(axis=1, keepdims=True), atol=1e-12)
    powers = powers ** (1 / np.sqrt(6))
    assert divided == near(powers / powers.sum(axis=1, keepdims=True))
    assert without.dtype == divided.dtype == np.float64
