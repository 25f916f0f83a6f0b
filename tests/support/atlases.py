"""Atlases of a few sentence pairs."""

from collections.abc import Sequence

from transformer.corpus.atlas.atlas import Atlas, AtlasProvenance
from transformer.corpus.atlas.drawing import draw_examples
from transformer.corpus.atlas.statistics import Settings, measure_heads_of
from transformer.corpus.atlas.summary import summarise
from transformer.corpus.executors import InProcess
from transformer.data.batching import make_examples
from transformer.translator import Translator


def atlas_of(translator: Translator, pairs: Sequence[tuple[str, str]], settings: Settings | None = None) -> Atlas:
    """Measure all heads over pairs that no file holds."""
    model, tokenizer = translator.model, translator.tokenizer
    settings = settings or Settings()
    examples = make_examples(pairs, tokenizer, model.config.max_length)
    measured = measure_heads_of(model, tokenizer, examples, settings)
    origin = AtlasProvenance(("x",), ("0",), "0", "1", len(pairs), {}, settings.seed, settings.sample)
    drawn = draw_examples(measured, InProcess(translator))
    return summarise(measured, drawn, tokenizer, model.config.num_heads, origin)
