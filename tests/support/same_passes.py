"""Whether a model of transformers and what was imported of it give the same numbers."""

import copy

import torch

from transformer import Translator
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
