"""What is measured over a checkpoint's sentence pairs while the visitor waits, computed once and shared."""

from transformer.config import Norm
from transformer.evaluation import Confidence, measure_confidence
from transformer.experiments.training import GradientNorms, gradient_norms

from . import CheckpointFiles, _cached, samples, translator

PAIRS_FOR_GRADIENTS = 16


@_cached(max_entries=64, show_spinner=False)
def confidence(checkpoint: CheckpointFiles, part: int, parts: int) -> Confidence:
    """How sure the model is on one of so many parts of its sentence pairs, counted from 0, and how often right."""
    return measure_confidence(translator(checkpoint).model, samples(checkpoint)[part::parts])


@_cached(max_entries=32, show_spinner="Initialising a model and going back through it …")
def gradients(checkpoint: CheckpointFiles, layers: int, seed: int, norm: Norm) -> GradientNorms:
    """Gradient norms of a new model in a checkpoint's shape, post-norm or pre-norm, on its first sentence pairs."""
    config, examples = translator(checkpoint).model.config, samples(checkpoint)[:PAIRS_FOR_GRADIENTS]
    return gradient_norms(config, norm, layers, examples, seed)
