"""Whether a model of transformers and what was imported of it give the same numbers."""

import copy
from pathlib import Path

import torch

from transformer import Translator
from transformer.checkpoint import load_checkpoint, save_checkpoint
from transformer.data.batching import pad
from transformer.interpret.activations import record

KINDS = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}


def assert_same_passes(theirs, ours: Translator, sources, targets) -> None:
    """Logits of a padded batch, in float64, within 2e-5 and all maps within 1e-6; targets: the decoder's inputs."""
    theirs, ours = copy.deepcopy(theirs).double(), Translator(copy.deepcopy(ours.checkpoint))
    ours.model.double()
    padding = ours.tokenizer.pad_id
    source, target = pad(sources, padding), pad(targets, padding)
    real = torch.tensor([[place < len(row) for place in range(target.shape[1])] for row in targets])
    with torch.inference_mode():
        found = theirs(
            input_ids=source,
            attention_mask=(source != padding).long(),
            decoder_input_ids=target,
            decoder_attention_mask=real.long(),
            output_attentions=True,
        )
        logits = ours.model(source, target)
    assert (found.logits - logits)[real].abs().max() < 2e-5 and found.logits[real].std() > 0.5
    for row, (one, fed) in enumerate(zip(sources, targets, strict=True)):
        seen = record(ours.model, [one], [fed])
        for kind, name in KINDS.items():
            weights = seen.weights(kind)[:, 0]
            expected = torch.stack(list(found[name]))[:, row, :, : weights.shape[-2], : weights.shape[-1]]
            assert (weights - expected).abs().max() < 1e-6


def assert_kept(ours: Translator, folder: Path) -> Translator:
    """What was imported is the same after it was written to a folder; returns what was read from there."""
    save_checkpoint(folder, ours.checkpoint, torch.float32)
    again = Translator(load_checkpoint(folder))
    assert again.model.config == ours.model.config and again.tokenizer.files == ours.tokenizer.files
    for (name, weight), (_, other) in zip(again.model.named_parameters(), ours.model.named_parameters(), strict=True):
        assert torch.equal(weight, other), name
    one, other = ours.trace("red dog"), again.trace("red dog")
    assert one.target_ids == other.target_ids and one.source_tokens == other.source_tokens
    return again
