"""Two sentences and their translations as one batch, and the pass over it without a mask, computed once and shared."""

from dataclasses import replace

from transformer.data.batching import BatchView
from transformer.interpret.mask_ablation import MaskedPass, run_masked, view_sentences

from . import TranslationRequest, _cached, trace, translator


def padded_batch(request: TranslationRequest, second: str) -> BatchView:
    """A text, a second one and their translations as one batch with its masks."""
    tokenizer = translator(request.checkpoint).tokenizer
    return view_sentences((trace(request), trace(replace(request, text=second))), tokenizer)


@_cached(max_entries=8, show_spinner="Running the batch …")
def masked_pass(request: TranslationRequest, second: str, disabled: str) -> MaskedPass:
    """The pass over a text, a second one and their translations as one batch, a mask disabled or "nothing"."""
    own, sentences = translator(request.checkpoint), (trace(request), trace(replace(request, text=second)))
    return run_masked(own.model, own.tokenizer, sentences, disabled)
