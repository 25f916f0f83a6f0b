"""What the decoding player is given: the model's own numbers, in words that are right."""

import base64
import dataclasses
import json

import numpy as np
import pytest
import torch

from headlight.plots.text import chance_words
from headlight.views.decoding.payload import decoding_steps
from headlight.views.decoding.text import hardest_step, search_sentence, step_sentence
from transformer.decoding.beam import Beam, SearchRecord
from transformer.decoding.sampling import DecodingState, Greedy, Hypothesis
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
            for step, fed in enumerate(trace.fed_ids):
                probabilities = state.step(torch.tensor([fed])).softmax(dim=-1)[0].numpy()
                np.testing.assert_allclose(
                    trace.candidate_probabilities[step], probabilities[trace.candidate_ids[step]], atol=1e-5
                )
                assert set(trace.candidate_ids[step]) == set(np.argsort(-probabilities, kind="stable")[:10])


def test_every_step_has_its_candidates_the_taken_one_marked(trace):
    shown = steps_of(trace)
    assert json.loads(json.dumps(shown)) == shown, "it must travel as JSON"
    assert len(shown["steps"]) == len(trace.next_ids)
    for step, found in enumerate(shown["steps"]):
        taken = [candidate for candidate in found["candidates"] if candidate["taken"]]
        assert [candidate["id"] for candidate in taken] == [trace.next_ids[step]]
        assert taken[0]["rank"] == trace.next_ranks[step] == found["rank"]
        assert taken[0]["probability"] == pytest.approx(trace.next_probabilities[step])
        total = sum(candidate["probability"] for candidate in found["candidates"]) + found["rest"]
        assert total == pytest.approx(1.0, abs=1e-5)


def test_a_taken_piece_beyond_the_ten_best_is_added_with_its_rank(trace):
    far = [step for step, rank in enumerate(trace.next_ranks) if rank > 10]
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


def test_a_step_in_words_names_fed_next_and_what_is_read_most(trace):
    cross, decoder = attention_map(trace, "cross", 0, 1), attention_map(trace, "decoder", 0, 1)
    words = step_sentence(trace, 2, cross, decoder)
    assert f"With input “{trace.fed_tokens[2]}”" in words and f"“{trace.next_tokens[2]}”" in words
    key = int(trace.cross[0, 1, 2].argmax())
    assert "Layer 1, head 2 attends most to" in words
    assert f"to “{trace.source_tokens[key]}” ({trace.cross[0, 1, 2, key]:.2f}) of the source" in words
    assert "you forced it" in step_sentence(trace, 2, cross, decoder, forced=True)


def test_what_decoding_never_chooses_cannot_be_taken(trace):
    padded = dataclasses.replace(
        trace, candidate_tokens=(("<pad>", "<s>", *trace.candidate_tokens[0][2:]), *trace.candidate_tokens[1:])
    )
    shown = steps_of(padded)["steps"][0]
    assert [candidate["special"] for candidate in shown["candidates"][:3]] == [True, True, False]
    first = dataclasses.replace(padded, entropies=np.array([9.0] + [0.2] * (len(trace.entropies) - 1)))
    assert "<pad>" not in hardest_step(first) and "<s>" not in hardest_step(first)
    cut = dataclasses.replace(trace, finished=False)
    assert [step["takable"] for step in steps_of(cut)["steps"]] == [True] * (len(trace.next_ids) - 1) + [False]


def test_the_least_certain_step_is_that_of_the_greatest_entropy(trace):
    flat = dataclasses.replace(trace, entropies=np.array([0.1, 2.0] + [0.2] * (len(trace.entropies) - 2)))
    assert hardest_step(flat).startswith(f"Step 2 of {len(trace.next_ids)}")
    assert f"perplexity {np.exp(2.0):.1f}." in hardest_step(flat)


@pytest.mark.parametrize(
    "probability, words",
    [
        (1.0, "> 99.9 %"),
        (0.998, "99.8 %"),
        (0.0123, "1.2 %"),
        (0.0005, "0.05 %"),
        (3e-6, "0.0003 %"),
        (0, "< 0.0001 %"),
    ],
)
def test_a_probability_is_never_rounded_to_all_or_to_nothing(probability, words):
    assert chance_words(probability) == words


def test_what_beam_search_gained_is_said_by_the_numbers():
    greedy, better = Hypothesis((5, 3), -2.0, -2.0, True), Hypothesis((6, 3), -1.5, -1.3, True)

    def words(ended, kept, one, size=2, alpha=0.6) -> str:
        record = SearchRecord(tuple(ended), tuple(kept), ())
        return search_sentence(record, one, Beam(size, alpha), lambda ids: f"words of {ids[0]}")

    assert "the same translation here. Try" in words([greedy], [((5,),)], greedy)
    assert "the same translation here, ranked above 1 other. Try" in words([greedy, better], [((5,),)], greedy)
    assert "likelier one: log P −1.50 against −2.00" in words([better, greedy], [((6,), (5,))], greedy)
    assert "(alpha 0.6) ranks it number 2. Try" in words([greedy, better], [((6,), (5,))], better)
    third = [greedy, greedy, better]
    assert "ended in the search as well, at rank 3, below the 2 shown" in words(third, [((6,), (5,))], better)
    assert "fell out of the beam at step 1 of 2" in words([greedy], [((5,),)], better)
    assert "fell out of the beam at step 2 of 2" in words([greedy], [((5,), (6,)), ((5, 7), (6, 7))], better)
    assert "still in the beam, unfinished, when the search stopped" in words([greedy], [((5,), (6,))], better)


@torch.inference_mode()
def beams_by_hand(shipped, text: str, size: int, steps: int) -> list[list[tuple[int, ...]]]:
    """The best `size` continuations of each step, those that end among them, by whole passes over every prefix."""
    source = torch.tensor([[*shipped.tokenizer.encode(text), shipped.tokenizer.end_id]])
    begin, end = shipped.tokenizer.begin_id, shipped.tokenizer.end_id
    live, steps_kept = {(): 0.0}, []
    for _ in range(steps):
        found = {}
        for ids, total in live.items():
            last = shipped.model(source, torch.tensor([[begin, *ids]]))[0, -1].log_softmax(-1)
            last[[shipped.tokenizer.pad_id, begin]] = -torch.inf
            values, tokens = last.topk(size)
            found |= {(*ids, token): total + v for token, v in zip(tokens.tolist(), values.tolist(), strict=True)}
        best = sorted(found, key=lambda ids: -found[ids])[:size]
        steps_kept.append(best)
        live = {ids: found[ids] for ids in best if ids[-1] != end}
    return steps_kept


SENTENCES = (
    *("Tom climbed over the wall.", "I love my teacher.", "no no no no no no", "Yes.", "\U0001f600 cat"),
    *("My dog has fleas.", "Machine learning models are trained on large amounts of data.", "word " * 60),
)


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("text", SENTENCES)
def test_what_is_said_about_greedys_path_is_so(shipped, text, size):
    record, greedy = shipped.beam_search(text, Beam(size)), shipped.hypotheses(text, Greedy())[0]
    said = search_sentence(record, greedy, Beam(size), shipped.tokenizer.decode)
    ended = [one.ids for one in record.ended]
    if "the same translation" in said:
        assert ended[0] == greedy.ids
    elif "found a likelier one" in said:
        assert record.ended[0].log_probability > greedy.log_probability
    elif "ranks it number" in said:
        assert ended[int(said.split("ranks it number ")[1].split(".")[0]) - 1] == greedy.ids
    elif "ended in the search as well" in said:
        assert ended.index(greedy.ids) >= size
    elif "fell out" in said:
        step = int(said.split("at step ")[1].split(" of")[0])
        by_hand = beams_by_hand(shipped, text, size, step)
        assert greedy.ids[:step] not in by_hand[-1]
        assert all(greedy.ids[: number + 1] in kept for number, kept in enumerate(by_hand[:-1]))
    else:
        assert "still in the beam" in said
        by_hand = beams_by_hand(shipped, text, size, len(record.kept))
        assert all(greedy.ids[: number + 1] in kept for number, kept in enumerate(by_hand))
        assert greedy.ids not in ended
