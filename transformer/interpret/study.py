"""Study: one translated sentence with everything that can be measured on it, each measured once.

study = model.study("I love my teacher.")
study.trace.cross[2, 4]
study.parts(Head("cross", 2, 4), query=1, key=2).total
study.under(Zero("cross", 2, 4)).trace.target_text
"""

import functools
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Concatenate, Optional, ParamSpec, TypeVar

import numpy as np

from ..arrays import to_array
from ..data.batching import BatchView, Ids
from ..data.tokenizer import source_ids
from ..decoding.beam import Beam, Branch, SearchRecord, path_to, search_tree
from ..decoding.sampling import Greedy, Hypothesis, Sampling
from ..model.heads import Head
from ..model.names import AttentionKind, Stack
from ..model.transformer import Transformer
from .activations import ATTENTION, RESIDUAL_STREAM, Activations, Predictions, Request, record, weights_of
from .attention_block import BlockParameters, Stages, block_parameters, compute_stages, differences, stages_of
from .attribution import (
    Attribution,
    Occlusion,
    concatenate,
    gradient_times_input,
    lost_without_each,
    occlude,
    parts_to_occlude,
)
from .head_patterns import word_ranges
from .mask_ablation import DisabledMask, MaskedPass, run_masked, view_sentences
from .positions import EmbeddingSum, embedding_sum, without_positions
from .relative_positions import Moved, move_sentence
from .residual import (
    MORE_TOKENS,
    ResidualStream,
    decoder_lens,
    logit_lens,
    record_gates,
    record_hidden_units,
    residual_stream_of,
)
from .rollout import Rollout, alti_of
from .score_parts import ScoreParts, score_parts_of
from .trace import Trace
from .what_if.hiding import hide, translate_without_each
from .what_if.importance import ABLATIONS, HeadImportance, HeadLosses, every_head, head_losses, joined
from .what_if.intervention import Intervention, Mean
from .what_if.logit_attribution import LogitAttribution, attribution_of
from .what_if.running import Means, apply_interventions
from .what_if.score_without import score_without

if TYPE_CHECKING:
    from ..translator import Decoding, Target, Translator

Arguments = ParamSpec("Arguments")
Measured = TypeVar("Measured")
Measure = Callable[Concatenate["Study", Arguments], Measured]
Watch = Callable[[str], AbstractContextManager[object]]
_MISSING = object()


def memoised(method: Measure[Arguments, Measured]) -> Measure[Arguments, Measured]:
    """Compute a measure of a study once per arguments; an error is raised and not kept."""

    @functools.wraps(method)
    def read(self: "Study", *args: Arguments.args, **kwargs: Arguments.kwargs) -> Measured:
        key, memo = self.key(method.__name__, *args, **kwargs), self.translator.memo
        with self._lock:
            result: Measured = memo.get(key, _MISSING)
            if result is _MISSING:
                with self.watch(method.__name__):
                    result = method(self, *args, **kwargs)
                memo.put(key, result)
        return result

    return read


def rerun(method: Measure[Arguments, Measured]) -> Measure[Arguments, Measured]:
    """Compute a measure of new passes once per arguments, under the study's interventions."""

    @functools.wraps(method)
    def run(self: "Study", *args: Arguments.args, **kwargs: Arguments.kwargs) -> Measured:
        with apply_interventions(self.model, self.decoding.interventions, self.decoding.means):
            return method(self, *args, **kwargs)

    return memoised(run)


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """A translation with everything that can be measured on it. Results are read-only, so that threads can share them.

    A study keeps its trace. What is measured, and the recorded pass that many measures read, is kept by the memo of the
    translator, for all of its studies together within `MEMO_BYTES`: beyond that the least recently read results are
    dropped, and computed again when they are read. One thread at a time computes; others wait for its result. All
    measures are those of a run under the interventions of `decoding`. Steps, layers, heads and positions count from 0.

    watch: called with the name of each measure that is computed; it returns a context, such as one with a notice.
    measure_means: returns what mean ablation puts in place of a head's output, where `decoding` has no means.
    """

    translator: "Translator"
    decoding: "Decoding"
    trace: Trace
    watch: Watch = nullcontext
    measure_means: Callable[[], Means] | None = None
    _lock: AbstractContextManager[bool] = field(default_factory=threading.RLock)
    _owner: object = field(default_factory=object)  # a key that keeps no trace alive

    @classmethod
    def record(
        cls,
        translator: "Translator",
        text: str,
        decoding: "Decoding",
        target: Optional["Target"] = None,
        decoded: Ids | None = None,
    ) -> "Study":
        """Translate and record a text; arguments and errors as for `Translator.record`."""
        search = None
        if isinstance(decoding.strategy, Beam) and target is None and decoded is None:
            search = translator.beam_search(text, decoding)
            target = search.ended[0]
        read = decoding if target is None else replace(decoding, prefix=())
        trace, _ = translator.record(text, read, target=target, decoded=decoded)
        study = cls(translator, decoding, trace)
        if search:
            translator.memo.put(study.key("search"), search)
        return study

    def __repr__(self) -> str:
        return f"<Study of {self.trace!r}>"

    def key(self, name: str, *args: object, **kwargs: object) -> tuple[object, ...]:
        """Return the memo's key of a measure."""
        values = (each._owner if isinstance(each, Study) else each for each in (*args, *kwargs.values()))
        return self._owner, name, *kwargs, *values

    @property
    def model(self) -> Transformer:
        """Return the model."""
        return self.translator.model

    # Other runs of the sentence

    @memoised
    def under(self, *interventions: Intervention, same_target: bool = False) -> "Study":
        """Return the study of what the same search finds under more interventions.

        same_target: the unchanged translation under them, teacher-forced. Raises InterventionError.
        """
        decoding = replace(self.decoding, interventions=(*self.decoding.interventions, *interventions))
        if decoding.means is None and any(isinstance(each, Mean) for each in interventions):
            decoding = replace(decoding, means=self._means())
        if not same_target:
            return self._traced(decoding)
        decoding = replace(decoding, strategy=Greedy(), prefix=())
        trace, _ = self.translator.record(self.trace.source_text, decoding, decoded=self.trace.target_ids)
        return self._child(decoding, trace)

    def without_words(self, *words: range) -> "Study":
        """Return the study of the translation while source words (`word_ranges`) are hidden from cross-attention."""
        return self.under(*hide([position for word in words for position in word]))

    @memoised
    def ranked(self, rank: int) -> "Study":
        """Return the study of the hypothesis of this rank, from 1, of a beam search; of fewer, the last."""
        ranked = self.hypotheses()
        return self._traced(self.decoding, ranked[min(rank, len(ranked)) - 1])

    @memoised
    def with_target(self, target: str) -> "Study":
        """Return the study of a given translation, teacher-forced; raises EmptyTextError and TooLongError."""
        return self._traced(replace(self.decoding, strategy=Greedy(), prefix=()), target)

    @memoised
    def without_positions(self) -> "Study":
        """Return the study of the translation when the encoder gets no positions."""
        with without_positions(self.model):
            return self._traced(self.decoding)

    @memoised
    def translations_without_positions(self, *others: "Study") -> tuple[str, ...]:
        """Return the translation when the encoder gets no positions, and those of other sentences, decoded together."""
        texts = [each.trace.source_text for each in (self, *others)]
        alone = isinstance(self.decoding.strategy, Sampling)  # each is to draw the same numbers
        with without_positions(self.model):
            batches = (self.translator.translate(some, self.decoding) for some in (zip(texts) if alone else [texts]))
            return tuple(text for batch in batches for text in batch)

    def _traced(self, decoding: "Decoding", target: Optional["Target"] = None) -> "Study":
        read = decoding if target is None else replace(decoding, prefix=())
        return self._child(decoding, self.translator.trace(self.trace.source_text, read, target=target))

    def _child(self, decoding: "Decoding", trace: Trace) -> "Study":
        return replace(self, decoding=decoding, trace=trace, _owner=object())

    def _means(self) -> Means | None:
        return self.decoding.means or (self.measure_means() if self.measure_means else None)

    # Search

    @memoised
    def search(self) -> SearchRecord:
        """Return the record of the beam search; raises ValueError for another strategy."""
        return self.translator.beam_search(self.trace.source_text, self.decoding)

    @memoised
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """Return the translations that the strategy finds, best first; of a beam at most its size."""
        if isinstance(self.decoding.strategy, Beam):
            return self.search().ended[: self.decoding.strategy.size]
        return tuple(self.translator.hypotheses(self.trace.source_text, self.decoding))

    @memoised
    def branches(self) -> tuple[Branch, ...]:
        """Return the beam search as a tree."""
        return search_tree(self.search())

    @rerun
    def branch_reads(self, layer: int, head: int) -> tuple[np.ndarray, ...]:
        """Return for each branch of that tree the weights of one cross-attention head at its last step: [source].

        All leaves are replayed in one padded batch; a branch is read in any leaf that it leads to.
        """
        tokenizer, tree = self.translator.tokenizer, self.branches()
        leaves = [number for number, branch in enumerate(tree) if branch.outcome is not None]
        fed = [[tokenizer.begin_id, *tree[number].ids[:-1]] for number in leaves]
        sources = [source_ids(tokenizer, self.trace.source_text)] * len(leaves)
        core = f"{AttentionKind.CROSS.block_name(layer)}.core"
        seen = record(self.model, sources, fed, Request(keep=(core,), logits_to_keep=1))
        weights = to_array(weights_of(seen.call(core))[:, head])
        leaf_of = {each: row for row, number in enumerate(leaves) for each in path_to(tree, number)}
        return tuple(weights[leaf_of[number], len(branch.ids) - 1] for number, branch in enumerate(tree))

    # Vectors of the recorded pass

    @rerun
    def activations(self) -> Activations:
        """Return the teacher-forced pass, which kept `RESIDUAL_STREAM` and every attention."""
        request = Request(keep=(*ATTENTION, *RESIDUAL_STREAM))
        return record(self.model, [self.trace.source_ids], [self.trace.decoder_input_ids], request)

    @memoised
    def stream(self) -> ResidualStream:
        """Return every vector between the blocks of the model, and the logits."""
        return residual_stream_of(self.model, self.activations())

    @memoised
    def lens(self) -> Predictions:
        """Return the predictions of each decoder layer."""
        return logit_lens(self.model, self.stream(), self.trace.target_ids)

    @memoised
    def stages(self, kind: AttentionKind | str, layer: int) -> Stages:
        """Return every step of one attention block."""
        return stages_of(self.model, self.activations(), kind, layer)

    def parameters(self, kind: AttentionKind | str, layer: int) -> BlockParameters:
        """Return the parameters of one attention block."""
        return block_parameters(self.model, kind, layer)

    @memoised
    def rounding_errors(self, kind: AttentionKind | str, layer: int) -> dict[str, float]:
        """Return the largest difference of each step of a block from its computation in float64 with NumPy."""
        shown, parameters = self.stages(kind, layer), self.parameters(kind, layer)
        memory = shown.memory if kind == AttentionKind.CROSS else None
        return differences(shown, compute_stages(shown.residual, memory, shown.unmasked, parameters))

    @memoised
    def contributions(self) -> Rollout:
        """Return the shares of source and prefix tokens in each vector, by ALTI+."""
        return alti_of(self.model, self.activations())

    @memoised
    def parts(self, head: Head, query: int, key: int, against: int | None = None) -> ScoreParts:
        """Return the parts of a head's score, or of the lead of one key over another; errors: `explain_score`."""
        return score_parts_of(self.model, self.activations(), head, query, key, against)

    @memoised
    def logit_parts(self, step: int) -> LogitAttribution:
        """Return the addition of each part to the logit of a step's token."""
        return attribution_of(self.model, self.activations(), step, self.trace.target_ids[step])

    @rerun
    def hidden_units(self, stack: Stack | str, layer: int) -> np.ndarray:
        """Return the hidden units of one feed-forward, after its activation: [tokens, d_ff]."""
        return record_hidden_units(self.model, self.trace.source_ids, self.trace.decoder_input_ids, stack, layer)

    @rerun
    def gates(self, stack: Stack | str, layer: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the gates of one gated feed-forward and the values that they multiply: [tokens, d_ff] each."""
        return record_gates(self.model, self.trace.source_ids, self.trace.decoder_input_ids, stack, layer)

    @rerun
    def embedding_sum(self) -> EmbeddingSum:
        """Return the embeddings, their positions and both together: the encoder's input."""
        return embedding_sum(self.model, self.trace.source_ids, self.trace.source_tokens)

    # Changed runs, and what they lose

    @memoised
    def importance(self, ablation: str = "zero") -> HeadImportance:
        """Return the loss of each token without each head; ablation: "zero", "mean" or "uniform"."""
        return joined(self.model, [self.head_losses(ablation, kind) for kind in AttentionKind])

    @rerun
    def head_losses(self, ablation: str, kind: AttentionKind) -> HeadLosses:
        """Return the losses without each head of one kind, a third of the work."""
        ablate, heads = ABLATIONS[ablation], every_head(self.model, [kind])
        means = self._means() if ablate is Mean else None
        return head_losses(self.model, self.trace.source_ids, self.trace.target_ids, heads, ablate, means)

    @rerun
    def score_without(self, removed: Head, head: Head, query: int, key: int, against: int | None = None) -> float:
        """Return the score, or the lead of one key over another, in a run without another head's part."""
        return score_without(self.translator, self.trace, self.parts(head, query, key, against), removed)

    @rerun
    def without_each_word(self) -> tuple[Hypothesis, ...]:
        """Return the greedy translation without each word of the text, in its order (see `word_ranges`)."""
        words = word_ranges(self.trace.source_tokens)
        return tuple(translate_without_each(self.model, self.trace.source_ids, words, self._prefix()))

    @rerun
    def early_translations(self) -> tuple[Hypothesis, ...]:
        """Return the translations that the search finds when the decoder reads each encoder layer: [layers + 1].

        Greedy in place of sampling: layers that draw differently could not be compared. Greedy decoding without an end
        is stopped some tokens after the last layer's translation.
        """
        strategy = Greedy() if isinstance(self.decoding.strategy, Sampling) else self.decoding.strategy
        return tuple(decoder_lens(self.model, self.trace.source_ids, strategy, self._prefix(), MORE_TOKENS))

    def _prefix(self) -> Ids:
        """Return the ids that the translation was forced to begin with."""
        return self.translator.prefix_ids(self.decoding.prefix, self.trace.source_text)

    @rerun
    def gradient(self, step: int, against: int | None = None) -> Attribution:
        """Return gradient times input for the token of a step; with `against`, for its lead over that id."""
        return gradient_times_input(self.model, *self.trace.before(step), against)

    @rerun
    def occlusion(self, step: int, places: range, against: int | None = None) -> Occlusion:
        """Return the loss of log P of a step's token without each of these tokens, source first, then prefix.

        With `against`, log P less that of the token of this id.
        """
        return occlude(self.model, *self.trace.before(step), places, against)

    def parts_to_occlude(self, step: int) -> list[range]:
        """Divide the tokens before a step into the parts of `left_out`, for a progress bar."""
        return parts_to_occlude(len(self.trace.source_ids), step + 1)

    def left_out(self, step: int, against: int | None = None) -> Attribution:
        """Return the loss of log P of a step's token without each token; `against` as in `occlusion`."""
        parts = [self.occlusion(step, places, against) for places in self.parts_to_occlude(step)]
        return concatenate(parts, len(self.trace.source_ids))

    @rerun
    def lost_without(self) -> np.ndarray:
        """Return the loss of log P of each output token without each source token: [outputs, source]."""
        trace = self.trace
        return lost_without_each(self.model, trace.source_ids, trace.decoder_input_ids, trace.target_ids)

    @rerun
    def moved(self, places: int) -> Moved | None:
        """Return the changes in the encoder when the text moves by so many positions, or as many as there is room for.

        None without any room.
        """
        room = min(places, self.model.config.max_length - len(self.trace.source_ids))
        return move_sentence(self.model, self.trace.source_ids, room) if room > 0 else None

    def beside(self, other: "Study") -> BatchView:
        """Return this sentence, another one and their translations as one batch with its masks."""
        return view_sentences((self.trace, other.trace), self.translator.tokenizer)

    @rerun
    def masked(self, other: "Study", disabled: DisabledMask | str = DisabledMask.NOTHING) -> MaskedPass:
        """Return the pass over this sentence, another one and their translations in a batch, with a mask disabled."""
        return run_masked(self.model, self.translator.tokenizer, (self.trace, other.trace), disabled)
