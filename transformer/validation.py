"""How good a model is on sentences it was not trained on: loss, and BLEU of its greedy translations."""

from collections.abc import Sequence

import torch

from .data import Example, collate, epoch_batches
from .decoding import Greedy, decode
from .loss import smoothed_cross_entropy
from .model import Transformer
from .scoring import score
from .tokenizer import Tokenizer

DECODING_BATCH = 64  # sentences decoded side by side


@torch.inference_mode()
def validation_loss(model: Transformer, examples: Sequence[Example], batch_tokens: int) -> float:
    """Mean cross-entropy a target token, in nats, without label smoothing (its exponential is the perplexity)."""
    total, tokens = 0.0, 0
    for batch in epoch_batches(examples, batch_tokens, 0.0, model.config.max_length, seed=0):
        source, fed, predicted = (ids.to(model.device) for ids in collate(batch, model.config.pad_id))
        total += smoothed_cross_entropy(model(source, fed), predicted, model.config.pad_id, 0.0).item()
        tokens += int((predicted != model.config.pad_id).sum())
    return total / tokens


def validation_bleu(model: Transformer, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> float:
    """sacreBLEU (13a, cased) of greedy translations; every source must fit the model."""
    sources = [[*ids, tokenizer.end_id] for ids in tokenizer.encode_all([source for source, _ in pairs])]
    order = sorted(range(len(sources)), key=lambda index: len(sources[index]))
    translations = [""] * len(sources)
    for start in range(0, len(order), DECODING_BATCH):
        indices = order[start : start + DECODING_BATCH]
        hypotheses = decode(model, [sources[index] for index in indices], Greedy())
        for index, hypothesis in zip(indices, hypotheses, strict=True):
            translations[index] = tokenizer.decode(hypothesis.ids)
    return score(translations, [target for _, target in pairs]).bleu
