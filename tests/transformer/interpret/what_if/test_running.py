"""Runs under interventions: nothing without any, the same step by step as all at once, and nobody else's."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest
import torch
from support.models import attention_blocks, mark_end, random_sources, unlike_model
from support.tiny import make_pairs
from support.tolerance import near

from transformer import Beam
from transformer.data.batching import make_examples
from transformer.decoding.beam import beam_search
from transformer.decoding.sampling import Greedy, decode
from transformer.errors import InterventionError
from transformer.interpret.activations import record
from transformer.interpret.attribution import gradient_times_input
from transformer.interpret.what_if.running import Means, apply_interventions, measure_means
from transformer.model.attention import causal_mask

BEGIN = 2
EXAMPLES = (
    "zero:cross.2.1",
    "mean:cross.1.2@2",
    "uniform:decoder.1.*@1-",
    "focus:cross.*.*:3@2-",
    "focus:decoder.*.*:1",
    "forbid:cross.*.*:2",
    "forbid:encoder.*.*:1@0-4",
    "shift:decoder.*.1:-1",
    "shift:cross.0.*:1@3",
    "given:cross.*.0:0,1,0,3@1-3",
    "uniform:encoder.1.3~zero:decoder.0.0@2~forbid:cross.2.*:0@3-",
)


@pytest.fixture(scope="module", params=["post", "pre"])
def model(request):
    return mark_end(unlike_model(norm=request.param), {"post": 1.5, "pre": -2.0}[request.param])


@pytest.fixture(scope="module")
def means(model):
    generator = torch.Generator().manual_seed(4)
    shapes = ((2, 4, 6), (3, 4, 6), (3, 4, 6))
    return Means(*(torch.randn(shape, generator=generator) for shape in shapes))


def logits(model, source, fed):
    with torch.inference_mode():
        return model(torch.tensor([source]), torch.tensor([fed]))[0]


def test_no_intervention_touches_nothing(model):
    source, fed = random_sources(7)[0], [BEGIN, 9, 8]
    with apply_interventions(model, []):
        assert not any(module._forward_hooks for module in model.modules())
        assert torch.equal(logits(model, source, fed), logits(model, source, fed))


@pytest.mark.parametrize("text", EXAMPLES)
def test_decoding_step_by_step_is_what_all_rows_at_once_predict(model, means, text):
    """The law of every intervention: cached decoding and the replay of its output are one run."""
    plain = [decode(model, [source], Greedy())[0] for source in random_sources(7, 9, seed=3)]
    moved = 0.0
    for source, before in zip(random_sources(7, 9, seed=3), plain, strict=True):
        with apply_interventions(model, text.split("~"), means):
            found = decode(model, [source], Greedy())[0]
            replayed = logits(model, source, [BEGIN, *found.ids[:-1]]).log_softmax(dim=-1)
        allowed = replayed.clone()
        allowed[:, list(model.config.never_chosen)] = -torch.inf
        assert tuple(allowed.argmax(dim=-1).tolist()) == found.ids
        own = replayed[range(len(found.ids)), found.ids].sum().item()
        assert own == near(found.log_probability)
        moved += abs(found.log_probability - before.log_probability)
    assert moved > 1e-3


def test_a_batch_and_a_beam_decode_under_an_intervention_as_each_alone(model):
    sources, asked = random_sources(4, 9, 6, seed=8), ["focus:cross.*.*:2@2-", "shift:decoder.*.*:-1"]
    with apply_interventions(model, asked):
        for search in (lambda some: decode(model, some, Greedy()), lambda some: beam_search(model, some, Beam(3))):
            together, alone = search(sources), [search([source])[0] for source in sources]
            for one, other in zip(together, alone, strict=True):
                first, second = (each[0] if isinstance(each, list) else each for each in (one, other))
                assert first.ids == second.ids


def test_an_intervention_on_one_row_leaves_earlier_ones_bit_for_bit(model):
    source, fed = random_sources(7)[0], [BEGIN, 9, 8, 7, 6]
    plain = logits(model, source, fed)
    for text in ("focus:cross.*.*:1@2-", "zero:decoder.*.*@2", "uniform:cross.1.3@2-3"):
        with apply_interventions(model, [text]):
            found = logits(model, source, fed)
        assert torch.equal(found[:2], plain[:2]) and not torch.equal(found[2], plain[2])


@pytest.mark.parametrize("kind, layer, head", [("encoder", 1, 2), ("decoder", 0, 3), ("cross", 2, 0)])
def test_zero_is_the_ablation_of_the_slice_before_the_output_projection(kind, layer, head):
    model, source, fed = unlike_model(), random_sources(7)[0], [BEGIN, 9, 8, 7, 6]
    with apply_interventions(model, [f"zero:{kind}.{layer}.{head}"]):
        ablated = logits(model, source, fed)
    with torch.no_grad():
        attention_blocks(model, kind)[layer].output.weight[:, head * 6 : (head + 1) * 6] = 0
    assert ablated == near(logits(model, source, fed))


def test_without_cross_attention_no_source_matters(model):
    one, other = random_sources(7, 7, seed=5)
    fed = [BEGIN, 9, 8, 7]
    with apply_interventions(model, ["zero:cross.*.*"]):
        assert torch.equal(logits(model, one, fed), logits(model, other, fed))
    assert not torch.equal(logits(model, one, fed), logits(model, other, fed))


def test_a_forbidden_key_is_a_masked_one(model):
    source, fed = random_sources(7)[0], [BEGIN, 9, 8, 7, 6]
    mask = torch.ones(1, 1, 1, 7, dtype=torch.bool)
    mask[..., 2] = False
    with torch.inference_mode():
        memory = model.encode(torch.tensor([source]), None)
        hidden = model.decode(torch.tensor([fed]), memory, causal_mask(5), mask)
        masked = model.output_projection(hidden)[0]
    with apply_interventions(model, ["forbid:cross.*.*:2"]):
        assert logits(model, source, fed) == near(masked)


def test_mean_ablation_puts_the_mean_there(model, means):
    source, fed = random_sources(7)[0], [BEGIN, 9, 8]
    with apply_interventions(model, ["mean:cross.1.2@1-"], means):
        core = record(model, [source], [fed]).call("decoder.1.cross_attention.core")
    assert torch.equal(core.output[0, 2, 1:], means.cross[1, 2].expand(2, 6))
    assert not torch.equal(core.output[0, 2, 0], means.cross[1, 2])


def test_a_pass_under_an_intervention_can_be_differentiated(model):
    source, fed = random_sources(7)[0], [BEGIN, 9, 8]
    with apply_interventions(model, ["focus:cross.*.*:1", "forbid:encoder.*.*:2"]):
        found = gradient_times_input(model, source, fed, 5)
    with apply_interventions(model, ["focus:cross.*.*:1", "forbid:encoder.*.*:2"]):
        step = 1e-2  # along the embeddings themselves: their sum is the derivative there
        table = model.source_embedding.embedding.weight
        original = table.detach().clone()
        sides = []
        for sign in (1, -1):
            with torch.no_grad():
                table.copy_(original * (1 + sign * step))
            sides.append(logits(model, source, fed)[-1].log_softmax(dim=-1)[5].item())
            with torch.no_grad():
                table.copy_(original)
    assert found.source.sum() == pytest.approx((sides[0] - sides[1]) / (2 * step), rel=0.05, abs=0.01)


@pytest.mark.parametrize("text", ["zero:encoder.2.0", "zero:cross.3.0", "zero:cross.0.4", "uniform:decoder.*.4"])
def test_a_head_that_is_not_there_is_refused(model, text):
    with pytest.raises(InterventionError, match="counted from 0"), apply_interventions(model, [text]):
        pass
    assert not any(module._forward_hooks for module in model.modules())


def test_mean_ablation_asks_for_means(model):
    with pytest.raises(InterventionError, match="not measured"), apply_interventions(model, ["mean:cross.0.0"]):
        pass


def test_two_threads_one_changed_and_one_not_are_as_alone(model):
    source, fed, asked = random_sources(9)[0], [BEGIN, 9, 8, 7], ["uniform:cross.*.*@1-", "zero:encoder.0.1"]

    def changed_run():
        with apply_interventions(model, asked):
            return logits(model, source, fed), decode(model, [source], Greedy())[0]

    def plain_run():
        return logits(model, source, fed), decode(model, [source], Greedy())[0]

    alone, start = {run: run() for run in (changed_run, plain_run)}, threading.Barrier(2)

    def repeat(run):
        start.wait()
        for _ in range(6):
            found = run()
            assert torch.equal(found[0], alone[run][0]) and found[1] == alone[run][1]

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(repeat, (changed_run, plain_run)))
    assert alone[changed_run][1] != alone[plain_run][1]


def test_the_trace_shows_what_was_rewritten_and_says_so(translator):
    text, asked = "big red dog.", ["focus:cross.1.2:3@1-", "zero:decoder.0.1", "uniform:encoder.1.*"]
    plain = translator.trace(text, target="Hund rot alt")
    trace = translator.trace(text, target="Hund rot alt", interventions=asked)
    assert list(map(str, trace.interventions)) == asked and plain.interventions == ()
    assert np.array_equal(
        trace.cross[1, 2, 1:], np.eye(len(trace.source_ids))[[3] * (len(trace.decoder_input_ids) - 1)]
    )
    assert trace.encoder[1] == near(1 / len(trace.source_ids))
    assert np.array_equal(trace.decoder[0], plain.decoder[0]), "an ablated head still shows its weights"
    assert not np.array_equal(trace.target_probabilities, plain.target_probabilities)


def test_the_translators_verbs_run_under_interventions(translator):
    text, asked = "big red dog.", ["zero:cross.*.*"]
    translation = translator.translate([text], interventions=asked)[0]
    trace = translator.trace(text, interventions=asked)
    assert trace.target_text == translation == translator.translate(["old car."], interventions=asked)[0]
    assert translator.hypotheses(text, interventions=asked)[0].ids == trace.target_ids
    searched = translator.beam_search(text, Beam(1), interventions=asked)
    assert searched.ended[0].log_probability != translator.beam_search(text, Beam(1)).ended[0].log_probability


def test_a_saved_trace_names_its_interventions_as_text(translator, tmp_path):
    for asked in ([], ["zero:cross.0.1", "shift:cross.2.3:1"]):
        translator.trace("big dog.", target="Hund", interventions=asked).save(tmp_path / "trace.npz")
        with np.load(tmp_path / "trace.npz", allow_pickle=False) as saved:
            assert saved["interventions"].tolist() == asked


def test_means_are_those_of_all_real_tokens(translator):
    model, tokenizer = translator.model, translator.tokenizer
    examples = make_examples(make_pairs(9, 3), tokenizer, model.config.max_length)
    means = measure_means(model, examples)
    for kind, layer, head in product(("encoder", "decoder", "cross"), (0, 1), (0, 3)):
        rows = []
        for each in examples:
            core = record(model, [each.source], [each.target[:-1]]).attention(kind)[layer]
            rows.append(core.output[0, head].double())
        assert means.of(kind)[layer, head] == near(torch.cat(rows).mean(dim=0).float())
    with pytest.raises(ValueError, match="at least one"):
        measure_means(model, [])
