"""Cached runs under interventions: the worth of heads, changed translations, patching, translations of early layers.

Interventions are frozen and part of the key.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from transformer import Beam, Decoding
from transformer.arrays import to_array
from transformer.data.tokenizer import source_ids
from transformer.decoding.beam import Branch, path_to, search_tree
from transformer.decoding.sampling import Greedy, Hypothesis, Sampling
from transformer.interpret.activations import Predictions, Request, record, weights_of
from transformer.interpret.head_patterns import word_ranges
from transformer.interpret.residual import MORE_TOKENS, decoder_lens
from transformer.interpret.score_parts import ScoreParts, score_parts_of
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.hiding import hide, translate_without_each
from transformer.interpret.what_if.importance import (
    ABLATIONS,
    HeadImportance,
    HeadLosses,
    every_head,
    head_losses,
    joined,
)
from transformer.interpret.what_if.intervention import Intervention, Mean
from transformer.interpret.what_if.logit_attribution import LogitAttribution, attribution_of
from transformer.interpret.what_if.patching import (
    PAIRS_FILE,
    Cell,
    MinimalPair,
    PatchingMap,
    Question,
    patched_predictions,
    patching_map,
    read_minimal_pairs,
    sentences_like,
)
from transformer.interpret.what_if.running import Means, measure_means
from transformer.interpret.what_if.score_without import score_without
from transformer.model.head_ref import HeadRef
from transformer.model.names import AttentionKind

from . import (
    TRACES,
    CheckpointFiles,
    TranslationRequest,
    _load_optional,
    cached,
    hypotheses,
    recorded,
    samples,
    search,
    trace,
    translator,
)

Interventions = tuple[Intervention, ...]
SENTENCES_OF_MEANS = 200
MOST_TRIED = 16  # second sentences
CANDIDATES = 4  # of each run, beside a patching map


@cached(max_entries=4, show_spinner="Measuring what heads give out on average …")
def head_means(checkpoint: CheckpointFiles) -> Means:
    """Return each head's mean output over a checkpoint's first sentence pairs; raises CheckpointError without any."""
    return measure_means(translator(checkpoint).model, samples(checkpoint)[:SENTENCES_OF_MEANS])


@cached(max_entries=256, show_spinner="Ablating each head in turn …")
def importance(request: TranslationRequest, ablation: str) -> HeadImportance:
    """Return the loss of each token of a translation without each head; ablation: "zero", "mean" or "uniform"."""
    parts = [losses_without(request, ablation, kind) for kind in AttentionKind]
    return joined(translator(request.checkpoint).model, parts)


@cached(max_entries=48, show_spinner=False)
def losses_without(request: TranslationRequest, ablation: str, kind: AttentionKind) -> HeadLosses:
    """Return the losses without each head of one kind, a third of the work: others may go first between two kinds."""
    sentence, ablate = trace(request), ABLATIONS[ablation]
    means = head_means(request.checkpoint) if ablate is Mean else None
    model = translator(request.checkpoint).model
    return head_losses(model, sentence.source_ids, sentence.target_ids, every_head(model, [kind]), ablate, means)


@cached(max_entries=64, show_spinner="Translating …")
def changed_trace(request: TranslationRequest, interventions: Interventions) -> Trace:
    """Return the best translation that the same search finds under interventions."""
    under = _under(request, interventions)
    return translator(request.checkpoint).trace(request.source, under, strategy=request.strategy, prefix=request.prefix)


@cached(max_entries=64, show_spinner="Translating …")
def same_target_trace(request: TranslationRequest, interventions: Interventions) -> Trace:
    """Return the unchanged translation, teacher-forced under interventions: its probabilities and maps then."""
    under, target = _under(request, interventions), trace(request).target_ids
    return translator(request.checkpoint).record(request.source, under, decoded=target)[0]


def hidden_trace(request: TranslationRequest, hidden: Sequence[range]) -> Trace:
    """Return the translation that the same search finds when source words are hidden from all cross-attention."""
    return changed_trace(request, hide([position for word in hidden for position in word]))


@cached(max_entries=64, show_spinner=False)
def translations_without_each_word(request: TranslationRequest) -> tuple[Hypothesis, ...]:
    """Return the greedy translation without each word of the text, in its order (see `word_ranges`)."""
    sentence, model = trace(request), translator(request.checkpoint).model
    prefix = request.prefix or sentence.target_ids[: sentence.num_forced]
    words = word_ranges(sentence.source_tokens)
    return tuple(translate_without_each(model, sentence.source_ids, words, prefix))


@cached(max_entries=16, show_spinner="Searching …")
def branches(request: TranslationRequest) -> tuple[Branch, ...]:
    """Return a beam search of a text as a tree."""
    return search_tree(search(request))


@cached(max_entries=32, show_spinner="Reading the branches …")
def branch_reads(request: TranslationRequest, layer: int, head: int) -> tuple[np.ndarray, ...]:
    """Return for each branch of that tree the weights of one cross-attention head at its last step: [source].

    All leaves are replayed in one padded batch; a branch is read in any leaf that it leads to.
    """
    loaded, tree = translator(request.checkpoint), branches(request)
    leaves = [number for number, branch in enumerate(tree) if branch.outcome is not None]
    fed = [[loaded.tokenizer.begin_id, *tree[number].ids[:-1]] for number in leaves]
    sources = [source_ids(loaded.tokenizer, request.source)] * len(leaves)
    block = AttentionKind.CROSS.block_name(layer)
    seen = record(loaded.model, sources, fed, Request(keep=(f"{block}.core",), logits_to_keep=1))
    weights = to_array(weights_of(seen.call(f"{block}.core"))[:, head])
    leaf_of = {each: row for row, number in enumerate(leaves) for each in path_to(tree, number)}
    return tuple(weights[leaf_of[number], len(branch.ids) - 1] for number, branch in enumerate(tree))


@cached(max_entries=8, show_spinner=False)
def minimal_pairs(checkpoint: CheckpointFiles) -> tuple[MinimalPair, ...]:
    """Return the minimal pairs that come with a checkpoint; none where there are none, or none that can be read."""
    return _load_optional(checkpoint, PAIRS_FILE, lambda path: read_minimal_pairs(path.parent)) or ()


@cached(max_entries=32, show_spinner=False)
def question_of_pair(checkpoint: CheckpointFiles, pair: MinimalPair) -> Question:
    """Return a minimal pair as the ids of its checkpoint."""
    return pair.question(translator(checkpoint).tokenizer)


@cached(max_entries=32, show_spinner="Looking for a second sentence …")
def second_sentence(request: TranslationRequest) -> str:
    """Return the text with two words exchanged or one repeated, so that it has as many tokens and another translation.

    "" where the first that are tried do not.
    """
    loaded, first = translator(request.checkpoint), trace(request)
    tried = [replace(request, text=text) for text in sentences_like(request.text)[:MOST_TRIED]]
    count = len(loaded.pieces(request.source))
    fitting = [one for one in tried if len(loaded.pieces(one.source)) == count]
    translations = loaded.best_ids([one.source for one in fitting]) if fitting else []
    others = (one.text for one, ids in zip(fitting, translations, strict=True) if ids != first.target_ids)
    return next(others, "")


@cached(max_entries=64, show_spinner="Patching each cell …")
def patching(checkpoint: CheckpointFiles, question: Question, site: str, part: str) -> PatchingMap:
    """Return the share of the difference between two sentences that each cell of a site restores."""
    return patching_map(translator(checkpoint).model, question, site, part)


@cached(max_entries=64, show_spinner=False)
def patched(checkpoint: CheckpointFiles, question: Question, cell: Cell) -> Predictions:
    """Return the predictions of the clean, the corrupted, and the run patched in one cell: [3]."""
    return patched_predictions(translator(checkpoint).model, question, [cell], CANDIDATES)


@cached(max_entries=TRACES, show_spinner="Decoding from every layer …")
def early_translations(request: TranslationRequest) -> tuple[Hypothesis, ...]:
    """Return the translations that the search finds when the decoder reads each encoder layer: [layers + 1].

    Greedy in place of sampling: layers that draw differently could not be compared. Greedy decoding without an end is
    stopped some tokens after the last layer's translation.
    """
    sentence = trace(request)
    strategy = Greedy() if isinstance(request.strategy, Sampling) else request.strategy
    prefix = request.prefix or sentence.target_ids[: sentence.num_forced]
    return tuple(decoder_lens(translator(request.checkpoint).model, sentence.source_ids, strategy, prefix, MORE_TOKENS))


@cached(max_entries=64, show_spinner=False)
def logit_parts(request: TranslationRequest, step: int) -> LogitAttribution:
    """Return the addition of each part to the logit of a step's token."""
    model, token = translator(request.checkpoint).model, trace(request).target_ids[step]
    return attribution_of(model, recorded(request)[1], step, token)


@cached(max_entries=256, show_spinner=False)
def score_of_run_without(
    request: TranslationRequest, head: HeadRef, query: int, key: int, against: int | None, removed: HeadRef
) -> float:
    """Return a head's score, or the lead of one key over another, in a run without another head's part."""
    parts = parts_of_score(request, head, query, key, against)
    return score_without(translator(request.checkpoint), trace(request), parts, removed)


def parts_of_score(
    request: TranslationRequest, head: HeadRef, query: int, key: int, against: int | None = None
) -> ScoreParts:
    """Return the parts of a head's score, or of the lead of one key over another."""
    parts = _parts_of_key(request, head, query, key)
    return parts if against is None else parts.minus(_parts_of_key(request, head, query, against))


@cached(max_entries=128, show_spinner=False)
def _parts_of_key(request: TranslationRequest, head: HeadRef, query: int, key: int) -> ScoreParts:
    return score_parts_of(translator(request.checkpoint).model, recorded(request)[1], head, query, key)


@cached(max_entries=64, show_spinner="Reading your translation …")
def given_trace(request: TranslationRequest, target: str) -> Trace:
    """Return the trace of a given translation, teacher-forced for the text. Raises EmptyTextError and TooLongError."""
    return translator(request.checkpoint).trace(request.source, target=target)


def second_best(request: TranslationRequest) -> str:
    """Return the best translation of a beam of 4 that reads otherwise than the request's own, else this.

    Its beginning where a model that did not find an end wrote more than it can be fed.
    """
    loaded, shown = translator(request.checkpoint), trace(request).target_text
    searched = hypotheses(replace(request, strategy=Beam(), prefix=(), rank=1))
    texts = (loaded.tokenizer.decode(each.ids) for each in searched)
    text = next((text for text in texts if text.strip() and text != shown), shown)
    while text and not loaded.can_be_given(text):
        text = text[: len(text) * 7 // 8]
    return text


def _under(request: TranslationRequest, interventions: Interventions) -> Decoding:
    needs_means = any(isinstance(each, Mean) for each in interventions)
    return Decoding(interventions=interventions, means=head_means(request.checkpoint) if needs_means else None)
