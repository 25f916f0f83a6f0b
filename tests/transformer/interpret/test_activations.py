"""Recording and zero ablation: what hooks see is what decoding did, and nobody else notices."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import torch
from support.models import mark_end, random_sources, record_one, stitched_while_decoding, unlike_model, zero_ablated
from support.tolerance import near

from transformer.decoding.beam import Beam
from transformer.decoding.sampling import Greedy, decode
from transformer.interpret.activations import Request, record
from transformer.model.names import AttentionKind
from transformer.model.transformer import Transformer

BEGIN = 2


@pytest.fixture(scope="module")
def model() -> Transformer:
    return mark_end(unlike_model(seed=4), 2.0)


@torch.inference_mode()
def unobserved(model: Transformer, source: list[int], fed: list[int]) -> torch.Tensor:
    return model(torch.tensor([source]), torch.tensor([fed]))[0]


@pytest.mark.parametrize("strategy", [None, Beam(size=1)])
@pytest.mark.parametrize("length", [2, 7, 20])
def test_attention_collected_while_decoding_equals_the_replay(model, strategy, length):
    source = random_sources(length)[0]
    stitched, fed = stitched_while_decoding(model, source, strategy)
    replay = record_one(model, source, fed)
    assert len(stitched) == 2 + 3 + 3
    for (kind, layer), rows in stitched.items():
        assert rows == near(getattr(replay, kind)[layer])


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_shapes_rows_and_masked_cells_of_a_recording(norm):
    model, source, fed = unlike_model(norm=norm), random_sources(7)[0], [BEGIN, 9, 8, 7, 6]
    recording = record_one(model, source, fed)
    assert recording.encoder.shape == (2, 4, 7, 7)
    assert recording.decoder.shape == (3, 4, 5, 5)
    assert recording.cross.shape == (3, 4, 5, 7)
    assert recording.logits.shape == (5, 31)
    for kind in AttentionKind:
        maps = getattr(recording, kind)
        torch.testing.assert_close(maps.sum(-1), torch.ones(maps.shape[:-1]))
    later = torch.ones(5, 5, dtype=torch.bool).triu(1)
    assert (recording.decoder[..., later] == 0).all()
    assert (recording.decoder[..., ~later] > 0).all()


def test_an_observed_pass_is_bit_identical_to_an_unobserved_one(model):
    for source, fed in zip(random_sources(3, 11), ([BEGIN], [BEGIN, 7, 9, 30, 4]), strict=True):
        assert torch.equal(record_one(model, source, fed).logits, unobserved(model, source, fed))


def test_recording_leaves_no_hook_behind(model):
    record_one(model, random_sources(4)[0], [BEGIN])
    with pytest.raises(ValueError, match="positions asked for"), zero_ablated(model, [("cross", 0, 0)]):
        record_one(model, [7] * 9999, [BEGIN])
    assert not any(module._forward_hooks for module in model.modules())


def test_ablating_all_heads_of_a_block_leaves_its_bias_alone(model):
    outputs = []
    block = model.decoder[1].cross_attention
    handle = block.register_forward_hook(lambda module, arguments, output: outputs.append(output))
    with zero_ablated(model, [("cross", 1, head) for head in range(4)]):
        unobserved(model, random_sources(7)[0], [BEGIN, 9, 8])
    handle.remove()
    torch.testing.assert_close(outputs[0], block.output.bias.expand(1, 3, 24))


def test_ablating_also_works_on_cached_decoding_and_is_over_after_the_block(model):
    source = random_sources(7)[0]
    heads = [("cross", layer, head) for layer in range(3) for head in range(4)]
    with zero_ablated(model, heads):
        ablated = decode(model, [source], Greedy())[0]
        other = decode(model, [random_sources(7, seed=9)[0]], Greedy())[0]
    assert ablated.ids == other.ids, "without cross-attention every source reads alike"
    assert decode(model, [source], Greedy())[0].log_probability != ablated.log_probability


def test_a_recording_under_silence_still_shows_the_ablated_heads_weights(model):
    source, fed = random_sources(7)[0], [BEGIN, 9, 8]
    plain = record_one(model, source, fed)
    with zero_ablated(model, [("encoder", 0, 1)]):
        ablated = record_one(model, source, fed)
    assert torch.equal(ablated.encoder[0], plain.encoder[0])
    assert not torch.equal(ablated.encoder[1], plain.encoder[1])


def test_a_model_in_training_mode_is_not_recorded():
    with pytest.raises(ValueError, match="eval mode"):
        record_one(unlike_model().train(), [5, 3], [BEGIN])


def test_many_threads_on_one_model_see_only_their_own_results(model):
    """Recording, ablating and translating at the same time on one shared model."""
    sources = random_sources(3, 5, 7, 9, 11, 13)
    feds = [[BEGIN, *range(5, 5 + number)] for number in range(6)]
    expected_records = [record_one(model, source, fed) for source, fed in zip(sources, feds, strict=True)]
    expected_ablated = []
    for number, (source, fed) in enumerate(zip(sources, feds, strict=True)):
        with zero_ablated(model, [("cross", 2, number % 4)]):
            expected_ablated.append(unobserved(model, source, fed))
    expected_ids = [decode(model, [source], Greedy())[0].ids for source in sources]
    start = threading.Barrier(6)

    def visit(number: int) -> None:
        source, fed, wanted = sources[number], feds[number], expected_records[number]
        start.wait()
        for turn in range(12):
            if (number + turn) % 3 == 0:
                seen = record_one(model, source, fed)
                assert all(torch.equal(getattr(seen, k), getattr(wanted, k)) for k in (*AttentionKind, "logits"))
            elif (number + turn) % 3 == 1:
                with zero_ablated(model, [("cross", 2, number % 4)]):
                    assert torch.equal(unobserved(model, source, fed), expected_ablated[number])
            else:
                assert decode(model, [source], Greedy())[0].ids == expected_ids[number]

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(visit, range(6)))
    assert not any(module._forward_hooks for module in model.modules())


def test_a_request_without_a_head_is_the_same_as_the_context_without_it(model):
    source, decoder_input, heads = random_sources(7)[0], [BEGIN, 9, 8], [("encoder", 0, 1), ("cross", 2, 3)]

    def without(head: int, output: torch.Tensor) -> torch.Tensor:
        output = output.clone()
        output[:, head] = 0.0
        return output

    change = (
        ("encoder.0.self_attention.core", partial(without, 1)),
        ("decoder.2.cross_attention.core", partial(without, 3)),
    )
    requested = record(model, [source], [decoder_input], Request(change=change))
    with zero_ablated(model, heads):
        within = record(model, [source], [decoder_input])
    assert torch.equal(requested.logits, within.logits)
    assert not torch.equal(requested.logits, record(model, [source], [decoder_input]).logits)
    assert not any(module._forward_hooks for module in model.modules())


def test_an_output_can_be_replaced_by_another_passs(model):
    """Patching: with the last cross-attention of another source, the rows are those of that source from there on."""
    one, other = random_sources(7, 7, seed=5)
    name, decoder_input = "decoder.2.cross_attention", [BEGIN, 9, 8]
    donor = record(model, [other], [decoder_input], Request(keep=(name,))).call(name).output
    patched = record(model, [one], [decoder_input], Request(keep=(name,), change=((name, lambda output: donor),)))
    assert torch.equal(patched.call(name).output, donor)
    assert not torch.equal(patched.logits, record(model, [one], [decoder_input]).logits)


def test_a_padded_batch_is_recorded_as_each_sentence_alone(model):
    sources, inputs = random_sources(3, 7), [[BEGIN, 9, 8], [BEGIN]]
    batch = record(model, sources, inputs)
    for number, (source, decoder_input) in enumerate(zip(sources, inputs, strict=True)):
        alone = record_one(model, source, decoder_input)
        assert batch.logits[number, : len(decoder_input)] == near(alone.logits)
        cross = batch.weights("cross")[:, number, :, : len(decoder_input), : len(source)]
        assert cross == near(alone.cross)


def test_only_what_is_asked_for_is_kept(model):
    source, decoder_input = random_sources(7)[0], [BEGIN, 9, 8]
    keep = ("decoder.1.feed_forward.inner", "decoder_input.positions", "positions")
    seen = record(model, [source], [decoder_input], Request(keep=keep, logits_to_keep=1))
    assert set(seen.calls) == set(keep)
    assert seen.call("decoder_input.positions").output.shape[1] == len(decoder_input)
    assert seen.logits[0] == near(record_one(model, source, decoder_input).logits[-1:])
    assert seen.attention("cross") == []
    with pytest.raises(ValueError, match="one call of 'positions' expected, 2 were kept"):
        seen.call("positions")
    with pytest.raises(ValueError, match="one call of 'encoder.0' expected, 0"):
        seen.call("encoder.0")
    with pytest.raises(ValueError, match="no module named 'decoder.3.core'"):
        record(model, [source], [decoder_input], Request(keep=("decoder.3.core",)))
    assert not any(module._forward_hooks for module in model.modules())


@pytest.mark.parametrize(
    ("sources", "fed"),
    [([[5, 3], [6, 3]], [[BEGIN]]), ([[]], [[BEGIN]]), ([[5, 3]], [[]]), ([[31, 3]], [[BEGIN]]), ([[5, 3]], [[-1]])],
)
def test_sentences_that_the_model_cannot_read_are_refused(model, sources, fed):
    with pytest.raises(ValueError, match="expected|needs ids"):
        record(model, sources, fed)
