"""Runs under interventions, computed once and shared: what each head is worth, and translations with something changed.

Interventions are asked for by their text (see `transformer.interpret.what_if.parsing`), which is part of the key.
"""

from dataclasses import replace

from transformer import Beam
from transformer.decoding.sampling import Hypothesis
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.head_means import HeadMeans, measure_means
from transformer.interpret.what_if.importance import HeadImportance, head_importance
from transformer.interpret.what_if.intervention import Mean
from transformer.interpret.what_if.parsing import INTERVENTIONS, parse_all

from . import CheckpointFiles, Choice, _cached, hypotheses, samples, trace, translator

SENTENCES_OF_MEANS = 200


@_cached(max_entries=4, show_spinner="Measuring what heads give out on average …")
def head_means(checkpoint: CheckpointFiles) -> HeadMeans:
    """Each head's mean output over the first of a checkpoint's sentence pairs; raises CheckpointError without any."""
    return measure_means(translator(checkpoint).model, samples(checkpoint)[:SENTENCES_OF_MEANS])


@_cached(max_entries=32, show_spinner="Ablating each head in turn …")
def importance(choice: Choice, ablation: str) -> HeadImportance:
    """What each token of a translation loses without each head, ablated as "zero", "mean" or "uniform" says."""
    sentence, ablate = trace(choice), INTERVENTIONS[ablation]
    means = head_means(choice.checkpoint) if ablate is Mean else None
    model = translator(choice.checkpoint).model
    return head_importance(model, sentence.source_ids, sentence.next_ids, ablate, means)


@_cached(max_entries=64, show_spinner="Translating …")
def changed_trace(choice: Choice, asked: str) -> Trace:
    """The translation that the same search finds under interventions, best first."""
    own = translator(choice.checkpoint)
    return own.trace(choice.source, strategy=choice.strategy, prefix=choice.prefix, **_under(choice, asked))


@_cached(max_entries=64, show_spinner="Translating …")
def same_target_trace(choice: Choice, asked: str) -> Trace:
    """The unchanged translation, teacher-forced under interventions: its probabilities and maps then."""
    own, sentence = translator(choice.checkpoint), trace(choice)
    target = Hypothesis(sentence.next_ids, 0.0, 0.0, sentence.finished)
    return own.trace(choice.source, target=target, **_under(choice, asked))


@_cached(max_entries=64, show_spinner="Reading your translation …")
def given_trace(choice: Choice, target: str) -> Trace:
    """A translation that is given, teacher-forced for the text. Raises EmptyTextError and TooLongError."""
    return translator(choice.checkpoint).trace(choice.source, target=target)


def second_best(choice: Choice) -> str:
    """The best translation of a beam of 4 that reads otherwise than the choice's own, else this."""
    own, shown = translator(choice.checkpoint), trace(choice).target_text
    found = hypotheses(replace(choice, strategy=Beam(), prefix=(), rank=1))
    texts = (own.tokenizer.decode(each.ids) for each in found)
    return next((text for text in texts if text.strip() and text != shown), shown)


def _under(choice: Choice, asked: str) -> dict:
    interventions = parse_all(asked)
    needs_means = any(isinstance(each, Mean) for each in interventions)
    return {"interventions": interventions, "means": head_means(choice.checkpoint) if needs_means else None}
