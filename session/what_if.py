"""Runs under interventions, computed once and shared: what each head is worth, and translations with something changed.

Interventions are asked for by their text (see `transformer.interpret.what_if.parsing`), which is part of the key.
"""

import numpy as np

from transformer.arrays import to_array
from transformer.data.tokenizer import source_ids
from transformer.decoding.sampling import Hypothesis
from transformer.decoding.search_tree import Branch, search_tree, way_to
from transformer.interpret.activations import Request, record, weights_of
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.head_means import HeadMeans, measure_means
from transformer.interpret.what_if.importance import HeadImportance, head_importance
from transformer.interpret.what_if.intervention import Mean
from transformer.interpret.what_if.parsing import INTERVENTIONS, parse_all
from transformer.interpret.what_if.running import intervened
from transformer.model.names import AttentionKind

from . import CheckpointFiles, Choice, _cached, samples, search, trace, translator

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


@_cached(max_entries=64, show_spinner=False)
def next_probabilities(choice: Choice, asked: str, step: int) -> np.ndarray:
    """Of every piece, how probable it is after a step of the unchanged translation, from 0, under interventions."""
    own, sentence, under = translator(choice.checkpoint), trace(choice), _under(choice, asked)
    with intervened(own.model, under["interventions"], under["means"]):
        request = Request(keep=(), logits_to_keep=1)
        seen = record(own.model, [sentence.source_ids], [sentence.fed_ids[: step + 1]], request)
    return to_array(seen.logits[0, -1].softmax(dim=-1))


@_cached(max_entries=16, show_spinner="Searching …")
def branches(choice: Choice) -> tuple[Branch, ...]:
    """A beam search of a text as a tree."""
    return search_tree(search(choice))


@_cached(max_entries=32, show_spinner="Reading the branches …")
def branch_reads(choice: Choice, layer: int, head: int) -> tuple[np.ndarray, ...]:
    """Of each branch of that tree the weights of one cross-attention head at its last step: [source].

    All leaves are replayed in one padded batch; a branch is read in any leaf that it leads to.
    """
    own, tree = translator(choice.checkpoint), branches(choice)
    leaves = [number for number, branch in enumerate(tree) if branch.outcome is not None]
    fed = [[own.tokenizer.begin_id, *tree[number].ids[:-1]] for number in leaves]
    sources = [source_ids(own.tokenizer, choice.source)] * len(leaves)
    block = AttentionKind.CROSS.block_name(layer)
    seen = record(own.model, sources, fed, Request(keep=(f"{block}.core",), logits_to_keep=1))
    weights = to_array(weights_of(seen.call(f"{block}.core"))[:, head])
    leaf_of = {each: row for row, number in enumerate(leaves) for each in way_to(tree, number)}
    return tuple(weights[leaf_of[number], len(branch.ids) - 1] for number, branch in enumerate(tree))


def _under(choice: Choice, asked: str) -> dict:
    interventions = parse_all(asked)
    needs_means = any(isinstance(each, Mean) for each in interventions)
    return {"interventions": interventions, "means": head_means(choice.checkpoint) if needs_means else None}
