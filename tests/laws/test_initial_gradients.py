"""What the page on pre-norm and post-norm says of new models' gradients, measured by a pass of the test's own."""

from dataclasses import replace
from functools import cache

import pytest
import torch
from support.streams import CHECKPOINTS, loaded

from transformer.data.batching import collate, read_samples
from transformer.experiments.training import gradient_norms
from transformer.model.transformer import Transformer
from transformer.training.optimization import smoothed_cross_entropy

_LAYERS = 6


@cache
def _examples():
    own = loaded("reverse")
    return read_samples(CHECKPOINTS / "reverse", own.tokenizer, own.model.config.max_length)[:16]


@cache
def _ratios(norm: str, seed: int, cross_attention: str) -> tuple[float, float, float]:
    """Decoder's and encoder's ratio of last to first gradient, and the mean deviation before cross-attention's norm."""
    sizes = {"num_encoder_layers": _LAYERS, "num_decoder_layers": _LAYERS, "dropout": 0.0, "norm": norm}
    config = replace(loaded("reverse").model.config, **sizes)
    with torch.inference_mode(False), torch.enable_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Transformer(config)
        deviations = []
        for layer in model.decoder:
            block = layer.cross_attention
            if cross_attention == "zero":
                block.register_forward_hook(lambda module, given, output: output * 0)
            elif cross_attention == "cut off from the encoder":
                block.register_forward_pre_hook(lambda module, given: (given[0], given[1].detach(), *given[2:]))
            elif cross_attention == "without any gradient":
                block.register_forward_hook(lambda module, given, output: output.detach())
            layer.cross_attention_residual.norm.register_forward_pre_hook(
                lambda module, given: deviations.append(given[0].std(dim=-1).mean().item())
            )
        source, fed, target = collate(_examples(), config.pad_id)
        smoothed_cross_entropy(model(source, fed), target, config.pad_id, 0.1).backward()
        norms = {
            stack: [layer.feed_forward.outer.weight.grad for layer in layers]
            for stack, layers in (("encoder", model.encoder), ("decoder", model.decoder))
        }
    decoder = float(norms["decoder"][-1].norm() / norms["decoder"][0].norm())
    ends = norms["encoder"][0], norms["encoder"][-1]
    encoder = float(ends[1].norm() / ends[0].norm()) if ends[0] is not None and ends[0].any() else float("nan")
    return decoder, encoder, sum(deviations) / len(deviations)


@pytest.mark.parametrize("seed", [1, 2])
def test_post_norms_excess_in_the_decoder_goes_with_cross_attentions_output(seed):
    decoder, encoder, deviation = _ratios("post", seed, "as it is")
    without, _, plain = _ratios("post", seed, "zero")
    assert decoder > 3 * encoder and abs(without - encoder) < 0.25 * (decoder - encoder)
    assert deviation > 1.1 and plain == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("way", ["cut off from the encoder", "without any gradient"])
def test_what_cross_attention_passes_back_does_not_make_that_excess(way):
    assert _ratios("post", 1, way)[0] == pytest.approx(_ratios("post", 1, "as it is")[0], rel=0.03)


def test_this_pass_measures_what_the_page_measures():
    config = loaded("reverse").model.config
    for norm in ("post", "pre"):
        shown = gradient_norms(config, norm, _LAYERS, _examples(), 1)
        decoder, encoder, _ = _ratios(norm, 1, "as it is")
        assert shown.decoder[-1] / shown.decoder[0] == pytest.approx(decoder, rel=1e-4)
        assert shown.encoder[-1] / shown.encoder[0] == pytest.approx(encoder, rel=1e-4)
