"""Validation on held-out sentences, and the checkpoint folder of the best weights so far."""

from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor

from ..checkpoint import Checkpoint, save_checkpoint
from ..config import Experiment, TrainingConfig
from ..data.batching import Examples, collate, epoch_batches, fitting
from ..data.mixture import MixedExamples
from ..data.pairs import TextPairs
from ..data.tokenizer import Tokenizer
from ..evaluation import Score, score
from ..model.transformer import Transformer
from ..translator import Translator
from .optimization import smoothed_cross_entropy
from .state import Progress


@torch.inference_mode()
def validation_loss(model: Transformer, examples: Examples, batch_tokens: int) -> float:
    """Mean cross-entropy a target token, in nats, without label smoothing (its exponential is the perplexity)."""
    total, tokens = 0.0, 0
    for batch in epoch_batches(examples, batch_tokens, 0.0, model.config.max_length, seed=0):
        source, fed, predicted = (ids.to(model.device) for ids in collate(batch, model.config.pad_id))
        total += smoothed_cross_entropy(model(source, fed), predicted, model.config.pad_id, 0.0).item()
        tokens += int((predicted != model.config.pad_id).sum())
    return total / tokens


def validation_score(model: Transformer, tokenizer: Tokenizer, pairs: TextPairs) -> Score:
    """BLEU and chrF of greedy translations; every source must fit the model."""
    translations = Translator(Checkpoint(model, tokenizer)).translate([source for source, _ in pairs])
    return score(translations, [target for _, target in pairs])


class Validator:
    """Measures weights on the held-out pairs that fit the model; `model` is its own, to put them into."""

    def __init__(self, model: Transformer, tokenizer: Tokenizer, pairs: TextPairs, settings: TrainingConfig):
        self.model, self.tokenizer, self.settings = model.eval(), tokenizer, settings
        fitting_pairs, self.examples = fitting(pairs, tokenizer, model.config.max_length)
        self.pairs = fitting_pairs[: settings.validate_sentences]

    def measure(self, weights: dict[str, Tensor]) -> tuple[float, Score]:
        """Loss on all pairs, and the score of the first `validate_sentences` greedy translations."""
        self.model.set_weights(weights)
        score = validation_score(self.model, self.tokenizer, self.pairs)
        return validation_loss(self.model, self.examples, self.settings.batch_tokens), score


class RunCheckpoint:
    """The checkpoint folder of a run: the weights of its best validation, and its history; `devices`: in words."""

    def __init__(self, folder: Path, experiment: Experiment, tokenizer: Tokenizer, devices: str, corpus: MixedExamples):
        self.folder, self.experiment, self.tokenizer = folder, experiment, tokenizer
        self.devices, self.corpus = devices, corpus

    def save(self, model: Transformer, progress: Progress, score: Score) -> None:
        """Write all of it for the weights of the newest validation, which scored `score`."""
        training = self._describe(progress, score)
        save_checkpoint(self.folder, Checkpoint(model, self.tokenizer, training, progress.history))

    def _describe(self, progress: Progress, score: Score) -> dict:
        """Return the training.json of the newest validation's weights."""
        row, configuration = progress.history[-1], self.experiment.as_dict()
        return {
            "data": configuration["data"],
            "configuration": configuration,
            **({"warm_start": progress.warm_start} if progress.warm_start else {}),
            "steps": row["step"],
            "averaged_steps": progress.averaged_steps,
            "seed": self.experiment.training.seed,
            "device": self.devices,
            "torch": torch.__version__,
            "seconds": row["seconds"],
            "training_pairs": len(self.corpus.all),
            **({"training_files": files} if len(files := self.corpus.describe()) > 1 else {}),
            "scores": {"valid_loss": row["valid_loss"], "validation greedy": asdict(score)},
        }
