"""Traces and their attention maps: each field is the model's."""

import dataclasses

import numpy as np
import pytest
import torch
from support.tolerance import near
from support.traces import made_trace

from transformer.errors import TooLongError
from transformer.interpret.trace import TOP_K, attention_map
from transformer.model.names import AttentionKind

TEXT = "big red dog."


@pytest.fixture(scope="module")
def trace(translator):
    return translator.trace(TEXT, target="groß rot alt Hund Hund.")


@torch.inference_mode()
def test_every_field_is_the_models(translator, tokenizer):
    target = "Hund rot"
    trace = translator.trace(TEXT, target=target)
    following = (*tokenizer.encode(target), tokenizer.end_id)
    source, fed = (*tokenizer.encode(TEXT), tokenizer.end_id), (tokenizer.begin_id, *following[:-1])
    probabilities = translator.model(torch.tensor([source]), torch.tensor([fed]))[0].softmax(-1)
    assert (trace.source_text, trace.target_text, trace.origin, trace.finished) == (TEXT, target, "target", True)
    assert tuple(piece.id for piece in trace.source_pieces) == source[:-1]
    for name, ids in (("source", source), ("decoder_input", fed), ("target", following)):
        assert getattr(trace, f"{name}_ids") == ids
        assert getattr(trace, f"{name}_tokens") == tuple(map(tokenizer.piece_text, ids))
    chosen, best = probabilities[range(len(following)), following], probabilities.topk(TOP_K, dim=-1)
    assert trace.target_probabilities == near(chosen) and trace.candidate_probabilities == near(best.values)
    assert list(trace.target_ranks) == [1 + int((row > p).sum()) for row, p in zip(probabilities, chosen, strict=True)]
    assert trace.entropies == near(-(probabilities * probabilities.log()).sum(-1))
    np.testing.assert_array_equal(trace.candidate_ids, best.indices)
    assert trace.candidate_tokens == tuple(tuple(map(tokenizer.piece_text, row)) for row in best.indices.tolist())
    cut = translator.trace(TEXT, target=following[:-1])
    assert not cut.finished and cut.target_text == target and cut.target_ids == following[:-1]


def test_ids_that_are_no_translation_are_refused(translator):
    too_many, size = [4] * (translator.model.config.max_length + 1), translator.model.config.output_size
    for ids, error in (([], ValueError), ([4, size], ValueError), ([-1], ValueError), (too_many, TooLongError)):
        with pytest.raises(error, match="target|ids must be"):
            translator.trace(TEXT, target=ids)


def test_maps_are_causal_distributions_in_read_only_float32(trace):
    source, target = len(trace.source_ids), len(trace.target_ids)
    shapes = {"encoder": (2, 4, source, source), "decoder": (3, 4, target, target), "cross": (3, 4, target, source)}
    for kind, shape in shapes.items():
        assert trace.attention(kind).shape == shape and trace.attention(kind).sum(-1) == near(1)
    assert not np.triu(trace.decoder, 1).any()
    arrays = [value for value in vars(trace).values() if isinstance(value, np.ndarray)]
    assert len(arrays) == 8 and not any(array.flags.writeable for array in arrays)
    assert {array.dtype for array in arrays if array.dtype.kind == "f"} == {np.dtype(np.float32)}


def test_forced_tokens_are_left_out_of_the_sum_of_log_p():
    trace = made_trace()
    assert trace.log_probability == pytest.approx(3 * trace.mean_log_probability) == pytest.approx(np.log(0.9 * 0.15))
    forced = dataclasses.replace(trace, num_forced=2)
    assert forced.log_probability == forced.mean_log_probability == pytest.approx(np.log(0.6))
    assert list(forced.scored_steps) == [2]


@pytest.mark.parametrize("layer, head", [(0, 1), (1, None), (None, 0), (None, None)])
def test_a_map_is_one_head_or_the_average_over_what_is_not_chosen(trace, layer, head):
    for kind in AttentionKind:
        chosen, maps = attention_map(trace, kind, layer, head), trace.attention(kind)
        assert (chosen.kind, chosen.layer, chosen.head) == (kind, layer, head)
        assert (chosen.layers, chosen.heads) == maps.shape[:2]
        part = maps[slice(None) if layer is None else [layer]][:, slice(None) if head is None else [head]]
        assert np.nan_to_num(chosen.weights) == near(part.mean(axis=(0, 1)))
        masked = np.isnan(chosen.weights)
        np.testing.assert_array_equal(masked, np.triu(np.ones_like(masked), 1) & (kind == "decoder"))


def test_a_decoder_row_is_named_after_the_token_that_it_reads_or_predicts(trace):
    fed, predicted, both = (attention_map(trace, "decoder", row_label=name) for name in ("fed", "predicted", "both"))
    assert fed.queries == fed.keys == predicted.keys == ("<s>", *trace.target_tokens[:-1])
    assert predicted.queries == trace.target_tokens
    assert both.queries == tuple(map(" → ".join, zip(fed.queries, trace.target_tokens, strict=True)))
    assert attention_map(trace, "encoder", row_label="both").queries == trace.source_tokens
    cross = attention_map(trace, "cross")
    assert (cross.queries, cross.keys) == (fed.queries, trace.source_tokens)


def test_a_map_that_the_trace_does_not_have_is_refused(trace):
    with pytest.raises(ValueError, match="kind must be one of encoder, decoder, cross"):
        trace.attention("self")
    for arguments in (("sideways",), ("cross", 99), ("cross", 0, 99), ("cross", -1), ("cross", 0, 0, "all")):
        with pytest.raises(ValueError):
            attention_map(trace, *arguments)
