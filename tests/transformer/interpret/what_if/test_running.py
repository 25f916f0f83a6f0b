"""Runs under interventions: step by step as all at once, and means over a corpus."""

from itertools import product

import pytest
import torch
from support.models import mark_end, random_sources, unlike_model
from support.tiny import make_pairs
from support.tolerance import near

from transformer.data.batching import make_examples
from transformer.decoding.sampling import Greedy, decode
from transformer.interpret.activations import ATTENTION, Request, record
from transformer.interpret.what_if.running import Means, apply_interventions, measure_means
from transformer.model.names import AttentionKind

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
    "given:cross.*.0:0,1,0,3@1-3",
    "uniform:encoder.1.3~zero:decoder.0.0@2~forbid:cross.2.*:0@3-",
)


@pytest.fixture(scope="module", params=["post", "pre"])
def model(request):
    return mark_end(unlike_model(norm=request.param), {"post": 1.5, "pre": -2.0}[request.param])


@pytest.fixture(scope="module")
def means():
    generator = torch.Generator().manual_seed(4)
    return Means(*(torch.randn(layers, 4, 6, generator=generator) for layers in (2, 3, 3)))


def logits(model, source, fed):
    with torch.inference_mode():
        return model(torch.tensor([source]), torch.tensor([fed]))[0]


@pytest.mark.parametrize("text", EXAMPLES)
def test_decoding_step_by_step_is_what_all_rows_at_once_predict(model, means, text):
    """Law of every intervention: cached decoding and the replay of its output are one run."""
    moved = 0.0
    for source in random_sources(7, 9, seed=3):
        before = decode(model, [source], Greedy())[0]
        with apply_interventions(model, text.split("~"), means):
            decoded = decode(model, [source], Greedy())[0]
            replayed = logits(model, source, [BEGIN, *decoded.ids[:-1]]).log_softmax(dim=-1)
        allowed = replayed.clone()
        allowed[:, list(model.config.never_chosen)] = -torch.inf
        assert tuple(allowed.argmax(dim=-1).tolist()) == decoded.ids
        assert replayed[range(len(decoded.ids)), decoded.ids].sum().item() == near(decoded.log_probability)
        moved += abs(decoded.log_probability - before.log_probability)
    assert moved > 1e-3


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_means_are_those_of_all_real_tokens_and_mean_ablation_puts_them_there(tokenizer, norm):
    model = unlike_model(norm=norm, vocab_size=90)
    examples = make_examples(make_pairs(5, 3), tokenizer, model.config.max_length)
    means, keep = measure_means(model, examples), (*ATTENTION, "*.*.feed_forward.inner")
    calls = [record(model, [each.source], [each.target[:-1]], Request(keep=keep)).call for each in examples]
    for kind, layer, head in product(AttentionKind, (0, 1), (0, 3)):
        rows = [call(f"{kind.block_name(layer)}.core").output[0, head].double() for call in calls]
        assert means.of(kind)[layer, head] == near(torch.cat(rows).mean(dim=0).float())
    for stack, layer in (("encoder", 1), ("decoder", 0), ("decoder", 2)):
        rows = [call(f"{stack}.{layer}.feed_forward.inner").output[0].double().clamp_min(0) for call in calls]
        assert means.of(f"{stack}.feed_forward")[layer] == near(torch.cat(rows).mean(dim=0).float())
    with apply_interventions(model, ["mean:cross.1.2@1-"], means):
        output = record(model, [[5, 6, 3]], [[BEGIN, 9, 8]]).call("decoder.1.cross_attention.core").output[0, 2]
    assert [torch.equal(row, means.cross[1, 2]) for row in output] == [False, True, True]
    with pytest.raises(ValueError, match="at least one"):
        measure_means(model, [])
