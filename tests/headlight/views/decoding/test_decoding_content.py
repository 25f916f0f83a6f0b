"""What the decoding player is given: the model's own numbers, in words that are right."""

import base64
import dataclasses
import json

import numpy as np
import pytest
import torch

from headlight.views.decoding.content import decoding_steps, describe_hardest
from transformer.decoding.sampling import DecodingState, Greedy
from transformer.interpret.trace import attention_map


@pytest.fixture(scope="module")
def trace(translator):
    return translator.trace("red dog", target="rot Hund Haus")


def steps_of(trace, layer=None, head=None, forced=0) -> dict:
    return decoding_steps(
        trace, attention_map(trace, "cross", layer, head), attention_map(trace, "decoder", layer, head), 90, forced
    )


def array(text: str, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype).reshape(shape)


def test_candidates_are_the_softmax_of_the_cached_logits_of_their_step(translator):
    # The page shows the replay's; decoding itself went token by token through the cache.
    for text in ("red dog.", "big old house.", "small blue bird car."):
        trace = translator.trace(text, strategy=Greedy())
        model = translator.model
        with torch.inference_mode():
            state = DecodingState(model, [list(trace.source_ids)], model.config.max_length)
            for step, fed in enumerate(trace.decoder_input_ids):
                probabilities = state.step(torch.tensor([fed])).softmax(dim=-1)[0].numpy()
                np.testing.assert_allclose(
                    trace.candidate_probabilities[step], probabilities[trace.candidate_ids[step]], atol=1e-5
                )
                assert set(trace.candidate_ids[step]) == set(np.argsort(-probabilities, kind="stable")[:10])


def test_every_step_has_its_candidates_the_taken_one_marked(trace):
    shown = steps_of(trace)
    assert json.loads(json.dumps(shown)) == shown, "it must travel as JSON"
    assert len(shown["steps"]) == len(trace.target_ids)
    for step, found in enumerate(shown["steps"]):
        taken = [candidate for candidate in found["candidates"] if candidate["taken"]]
        assert [candidate["id"] for candidate in taken] == [trace.target_ids[step]]
        assert taken[0]["rank"] == trace.target_ranks[step] == found["rank"]
        assert taken[0]["probability"] == pytest.approx(trace.target_probabilities[step])
        total = sum(candidate["probability"] for candidate in found["candidates"]) + found["rest"]
        assert total == pytest.approx(1.0, abs=1e-5)


def test_a_taken_piece_beyond_the_ten_best_is_added_with_its_rank(trace):
    far = [step for step, rank in enumerate(trace.target_ranks) if rank > 10]
    assert far, "an untrained model ranks a given target anywhere"
    for step in far:
        assert len(steps_of(trace)["steps"][step]["candidates"]) == 11


def test_weights_travel_whole(trace):
    shown = steps_of(trace, 1, 2)
    rows, columns = trace.cross.shape[2:]
    np.testing.assert_array_equal(array(shown["cross"], "<f4", (rows, columns)), trace.cross[1, 2])
    np.testing.assert_array_equal(array(shown["decoder"], "<f4", (rows, rows)), trace.decoder[1, 2])
    for kind in ("cross", "decoder"):
        weights = trace.attention(kind)
        np.testing.assert_array_equal(array(shown[f"all_{kind}"], "<f4", weights.shape), weights)
    assert (shown["layer"], shown["head"], shown["name"]) == (1, 2, "layer 2, head 3")


def test_what_decoding_never_chooses_cannot_be_taken(trace):
    padded = dataclasses.replace(
        trace, candidate_tokens=(("<pad>", "<s>", *trace.candidate_tokens[0][2:]), *trace.candidate_tokens[1:])
    )
    shown = steps_of(padded)["steps"][0]
    assert [candidate["special"] for candidate in shown["candidates"][:3]] == [True, True, False]
    first = dataclasses.replace(padded, entropies=np.array([9.0] + [0.2] * (len(trace.entropies) - 1)))
    said = " ".join(map(str, describe_hardest(first)))
    assert "<pad>" not in said and "<s>" not in said
    cut = dataclasses.replace(trace, finished=False)
    assert [step["takable"] for step in steps_of(cut)["steps"]] == [True] * (len(trace.target_ids) - 1) + [False]
