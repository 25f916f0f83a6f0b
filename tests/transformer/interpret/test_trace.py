"""Trace: what every figure reads."""

import dataclasses

import numpy as np
import pytest
import torch
from support.models import record_one
from support.tolerance import near
from support.traces import made_trace

from transformer.interpret.activations import record
from transformer.interpret.trace import TOP_K, Trace
from transformer.interpret.trace_file import Origin
from transformer.model.names import AttentionKind

TEXT = "big red dog."


@pytest.fixture(scope="module")
def trace(translator):
    return translator.trace(TEXT, target="groß rot alt Hund Hund.")


def test_decoder_row_t_is_fed_what_came_before_and_predicts_what_comes_next(trace, tokenizer):
    target_ids = (*tokenizer.encode("groß rot alt Hund Hund."), tokenizer.end_id)
    assert trace.target_ids == target_ids
    assert trace.decoder_input_ids == (tokenizer.begin_id, *target_ids[:-1])
    assert trace.decoder_input_tokens[0] == "<s>" and trace.target_tokens[-1] == "</s>"
    assert trace.decoder_input_tokens[1:] == trace.target_tokens[:-1]
    assert trace.source_ids == (*tokenizer.encode(TEXT), tokenizer.end_id)
    assert trace.source_tokens == tuple(map(tokenizer.piece_text, trace.source_ids))


def test_maps_have_layers_heads_queries_and_keys(trace):
    source, target = len(trace.source_ids), len(trace.target_ids)
    assert source != target
    assert trace.encoder.shape == (2, 4, source, source)
    assert trace.decoder.shape == (3, 4, target, target)
    assert trace.cross.shape == (3, 4, target, source)


@pytest.mark.parametrize("kind", AttentionKind)
def test_rows_of_every_map_sum_to_one(trace, kind):
    maps = trace.attention(kind)
    assert maps.sum(-1) == near(1)
    assert maps is getattr(trace, kind)


def test_the_decoder_never_looks_ahead(trace):
    later = np.triu(np.ones(trace.decoder.shape[-2:], dtype=bool), 1)
    assert (trace.decoder[..., later] == 0).all()


def test_an_unknown_kind_of_map_is_refused(trace):
    with pytest.raises(ValueError, match="kind must be one of encoder, decoder, cross"):
        trace.attention("self")


def test_probabilities_ranks_and_entropies_are_those_of_the_models_logits(trace, translator):
    logits = record_one(translator.model, trace.source_ids, trace.decoder_input_ids).logits.double()
    p = logits.softmax(-1).numpy()
    rows = np.arange(len(trace.target_ids))
    chosen = p[rows, trace.target_ids]
    assert trace.target_probabilities == near(chosen)
    np.testing.assert_array_equal(trace.target_ranks, 1 + (p > chosen[:, None]).sum(1))
    assert trace.entropies == near(-(p * np.log(p)).sum(1))


def test_candidates_are_the_most_probable_first_with_their_own_texts(trace, translator, tokenizer):
    assert trace.candidate_ids.shape == trace.candidate_probabilities.shape == (len(trace.target_ids), TOP_K)
    assert (np.diff(trace.candidate_probabilities) <= 0).all()
    p = record_one(translator.model, trace.source_ids, trace.decoder_input_ids).logits.softmax(-1)
    np.testing.assert_array_equal(trace.candidate_ids[:, 0], p.argmax(-1).numpy())
    expected = torch.gather(p, 1, torch.tensor(trace.candidate_ids)).numpy()
    assert trace.candidate_probabilities == near(expected)
    assert trace.candidate_tokens[1][2] == tokenizer.piece_text(trace.candidate_ids[1, 2])


def test_arrays_are_read_only_and_fields_frozen(trace):
    arrays = [value for value in vars(trace).values() if isinstance(value, np.ndarray)]
    assert len(arrays) == 8 and not any(array.flags.writeable for array in arrays)
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        trace.origin = "decoded"


def test_maps_and_probabilities_are_float32(trace):
    for name in ("encoder", "decoder", "cross", "target_probabilities", "entropies", "candidate_probabilities"):
        assert getattr(trace, name).dtype == np.float32, name


def test_a_saved_trace_has_every_field_without_pickle(trace, tmp_path):
    trace.save(tmp_path / "trace.npz")
    with np.load(tmp_path / "trace.npz", allow_pickle=False) as stored:
        names = {field.name for field in dataclasses.fields(trace)} - {"source_pieces"} | {"source_spans"}
        assert set(stored.files) == names
        for name in names - {"source_spans"}:
            np.testing.assert_array_equal(stored[name], np.array(getattr(trace, name)))
        spans = [TEXT[begin:end].strip() for begin, end in stored["source_spans"]]
        assert "".join(spans) == TEXT.replace(" ", "")


def test_greedy_chooses_the_most_probable_token_that_may_be_chosen():
    tokens, probabilities = ("<pad>", "▁a", "<s>", "▁b"), [0.4, 0.3, 0.2, 0.1]
    trace = made_trace(
        target_ids=(4, 5, 5),
        target_probabilities=np.array([0.3, 0.1, 0.1]),
        target_ranks=np.array([2, 4, 4]),
        candidate_ids=np.tile([0, 4, 2, 5], (3, 1)),
        candidate_tokens=(tokens,) * 3,
        candidate_probabilities=np.tile(probabilities, (3, 1)),
    )
    assert trace.is_greedy.tolist() == [True, False, False]
    assert [trace.runner_up(step) for step in range(3)] == [3, 1, 1]
    forced = dataclasses.replace(trace, num_forced=2)
    assert forced.is_greedy.tolist() == [True, True, False] and list(forced.scored_steps) == [2]
    assert forced.log_probability == forced.mean_log_probability == pytest.approx(np.log(0.1))


def test_saving_keeps_the_very_name_it_is_given(trace, tmp_path):
    trace.save(tmp_path / "trace.out")
    assert [path.name for path in tmp_path.iterdir()] == ["trace.out"]


def test_a_target_cut_off_is_not_finished(translator, tokenizer):
    pieces, ids = tokenizer.pieces("dog"), tokenizer.encode("Hund Katze")
    source = [*(piece.id for piece in pieces), tokenizer.end_id]
    recording = record(translator.model, [source], [[tokenizer.begin_id, *ids[:-1]]])
    trace = Trace.from_activations(recording, tokenizer, "dog", ids, Origin.DECODED)
    assert not trace.finished and trace.target_text == "Hund Katze"


def test_the_runner_up_is_the_best_token_that_was_not_chosen_and_could_have_been(trace, tokenizer):
    first = ("<pad>", "<s>", *trace.candidate_tokens[0][2:])
    padded = dataclasses.replace(trace, candidate_tokens=(first, *trace.candidate_tokens[1:]))
    assert padded.never_chosen == {"<pad>", "<s>"} and padded.runner_up(0) >= 2
    assert dataclasses.replace(trace, decoder_input_tokens=("</s>", *trace.decoder_input_tokens[1:])).never_chosen == {
        "<pad>"
    }
    never = {tokenizer.pad_id, tokenizer.begin_id}
    for step, (ids, own) in enumerate(zip(trace.candidate_ids.tolist(), trace.target_ids, strict=True)):
        assert ids[trace.runner_up(step)] == next(id for id in ids if id not in never | {own})


def test_another_token_can_be_taken_unless_the_length_limit_was_met_there(trace):
    steps = range(len(trace.target_ids))
    cut = dataclasses.replace(trace, finished=False)
    assert [cut.has_room_after(step) for step in steps] == [True] * (len(steps) - 1) + [False]
    assert all(dataclasses.replace(trace, finished=True).has_room_after(step) for step in steps)
