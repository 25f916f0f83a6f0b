"""DecoderLens and direct logit attribution against the model itself."""

import numpy as np
import pytest
import torch
from support.models import bias_logits, mark_end, random_sources, unlike_model
from support.recorded import attribute_logit, record_residual_stream
from support.tolerance import near
from support.traces import loaded, trace_of

from transformer.decoding.beam import Beam, beam_search
from transformer.decoding.sampling import Greedy, Sampling, decode
from transformer.interpret.activations import RESIDUAL_STREAM, Request, record
from transformer.interpret.residual import decoder_lens
from transformer.interpret.what_if.intervention import Zero
from transformer.interpret.what_if.logit_attribution import attribution_of
from transformer.interpret.what_if.running import apply_interventions

SOURCE, FED = random_sources(7)[0], [2, 9, 8, 5]


@pytest.fixture(scope="module", params=["post", "pre, embeddings too"])
def model(request):
    norm, _, too = request.param.partition(", ")
    model = unlike_model(norm=norm, output_bias=True, embedding_norm=bool(too))
    return mark_end(bias_logits(model, {5: 0.3, 7: -0.7}), -1.0)


@torch.inference_mode()
def test_each_layer_of_the_lens_is_decoded_from_that_layers_output(model):
    stack = record_residual_stream(model, SOURCE, FED).encoder
    memories = [stack.start, *(stack.of_layer(layer)[-1].after for layer in range(2))]
    memories = [model.encoder_norm(torch.tensor(vectors)[None]) for vectors in memories]
    greedy = [decode(model, [SOURCE], Greedy(), [(8,)], memory)[0] for memory in memories]
    beams = [beam_search(model, [SOURCE], Beam(3), [(8,)], memory)[0][0] for memory in memories]
    for strategy, expected in ((Greedy(), greedy), (Beam(3), beams)):
        decoded = decoder_lens(model, SOURCE, strategy, prefix=(8,))
        assert [one.ids for one in decoded] == [one.ids for one in expected]
        assert [one.log_probability for one in decoded] == near([one.log_probability for one in expected])
    # Rows of a batch draw one after the other, so that drawn layers have no run of their own to compare with.
    assert [one.ids[0] for one in decoder_lens(model, SOURCE, Sampling(0.7, seed=2), prefix=(8,))] == [8] * 3


def test_a_translation_without_an_end_stops_after_so_many_tokens():
    model, trace = loaded("en-de").model, trace_of("en-de", "The cat is hungry because it has not eaten.")
    whole, most = decoder_lens(model, trace.source_ids), len(trace.target_ids) + 3
    stopped = decoder_lens(model, trace.source_ids, more=3)
    assert [one.ids for one in stopped] == [one.ids[:most] for one in whole]
    assert [one.finished for one in stopped] == [one.finished and len(one.ids) <= most for one in whole]
    assert not stopped[0].finished and stopped[-1].finished


def test_a_step_of_a_whole_sentence_has_the_parts_of_the_prefix_alone(model):
    keep = (*RESIDUAL_STREAM, "decoder.*.*_attention.core")
    seen = record(model, [SOURCE], [FED], Request(keep=keep))
    for step in range(len(FED)):
        whole, alone = attribution_of(model, seen, step, 5, 11), attribute_logit(model, SOURCE, FED[: step + 1], 5, 11)
        for part in ("decoder", "cross", "feed_forward", "embedding", "position", "biases", "logit"):
            assert getattr(whole, part) == near(getattr(alone, part), scale=alone.logit)


@pytest.mark.parametrize("kind, number", [("decoder", 0), ("cross", 1)])
def test_a_head_of_the_last_layer_adds_its_vector_through_the_held_norm(kind, number):
    """Pre-norm: the head's vector is taken out of the last residual stream by hand, the deviation is kept."""
    model, layer, head = unlike_model(norm="pre"), 2, 1
    added = getattr(attribute_logit(model, SOURCE, FED, 5), kind)[layer, head]
    whole = record_residual_stream(model, SOURCE, FED).decoder.of_layer(layer)
    with apply_interventions(model, [Zero(kind, layer, head)]):
        without = record_residual_stream(model, SOURCE, FED).decoder.of_layer(layer)
    head_vector, last = whole[number].change[-1] - without[number].change[-1], whole[-1].after[-1].astype(np.float64)
    weight = (model.output_projection.weight[5] * model.decoder_norm.weight).detach().numpy()
    centred = head_vector - head_vector.mean()
    assert added == near((weight * centred / np.sqrt(last.var() + model.decoder_norm.eps)).sum())
