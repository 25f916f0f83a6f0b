"""How good a model is on sentences it was not trained on: loss, and BLEU of its greedy translations."""

from collections.abc import Sequence
from dataclasses import asdict

import torch
from torch import Tensor

from ..checkpoint import Checkpoint
from ..config import Experiment, TrainingConfig
from ..data.batching import Example, collate, epoch_batches, fitting
from ..data.tokenizer import Tokenizer
from ..device import describe_device
from ..evaluation import Score, score
from ..model.transformer import Transformer
from ..translator import Translator
from .distributed import Processes
from .optimization import smoothed_cross_entropy
from .state import Progress


@torch.inference_mode()
def validation_loss(model: Transformer, examples: Sequence[Example], batch_tokens: int) -> float:
    """Mean cross-entropy a target token, in nats, without label smoothing (its exponential is the perplexity)."""
    total, tokens = 0.0, 0
    for batch in epoch_batches(examples, batch_tokens, 0.0, model.config.max_length, seed=0):
        source, fed, predicted = (ids.to(model.device) for ids in collate(batch, model.config.pad_id))
        total += smoothed_cross_entropy(model(source, fed), predicted, model.config.pad_id, 0.0).item()
        tokens += int((predicted != model.config.pad_id).sum())
    return total / tokens


def validation_score(model: Transformer, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> Score:
    """BLEU and chrF of greedy translations; every source must fit the model."""
    translations = Translator(Checkpoint(model, tokenizer)).translate([source for source, _ in pairs])
    return score(translations, [target for _, target in pairs])


class Validator:
    """Measures weights on the held-out pairs that fit the model; `model` is its own, to put them into."""

    def __init__(
        self, model: Transformer, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]], settings: TrainingConfig
    ):
        self.model, self.tokenizer, self.settings = model.eval(), tokenizer, settings
        fitting_pairs, self.examples = fitting(pairs, tokenizer, model.config.max_length)
        self.pairs = fitting_pairs[: settings.validate_sentences]

    def measure(self, weights: dict[str, Tensor]) -> tuple[float, Score]:
        """Loss on all pairs, and the score of the first `validate_sentences` greedy translations."""
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(weights[name])
        score = validation_score(self.model, self.tokenizer, self.pairs)
        return validation_loss(self.model, self.examples, self.settings.batch_tokens), score


def describe_place(device: torch.device, processes: Processes) -> str:
    """Where a run computes, in words."""
    place = describe_device(device)
    return place if processes.count == 1 else f"{processes.count} processes, each on {place}"


def describe_run(experiment: Experiment, progress: Progress, score: Score, place: str, pairs: int) -> dict:
    """The training.json of the newest validation's weights, which scored `score`, learned from so many pairs."""
    row = progress.history[-1]
    return {
        "data": experiment.as_dict()["data"],
        "configuration": experiment.as_dict(),
        **({"warm_start": progress.warm_start} if progress.warm_start else {}),
        "steps": row["step"],
        "averaged_steps": progress.snapshots,
        "seed": experiment.training.seed,
        "device": place,
        "torch": torch.__version__,
        "seconds": row["seconds"],
        "training_pairs": pairs,
        "scores": {"valid_loss": row["valid_loss"], "validation greedy": asdict(score)},
    }
