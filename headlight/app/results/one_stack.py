"""One stacks beside checkpoints: the same translators, built as one causal stack."""

from headlight.app import results
from transformer.checkpoint import find_checkpoints
from transformer.config import ModelKind
from transformer.interpret.one_stack import OneStackTrace, OneStackTranslator
from transformer.interpret.trace import Trace

from . import STUDIES, TEMPLATES, CheckpointFiles, TranslationRequest, cached

ONE_STACK = "-one-stack"  # after the name of the checkpoint that it is compared with


def one_stack_names() -> list[str]:
    """Return the names of the checkpoints of one stack that exist now."""
    return [path.name for path in find_checkpoints(results.CHECKPOINTS, ModelKind.ONE_STACK)]


def find_one_stack(checkpoint: CheckpointFiles) -> CheckpointFiles | None:
    """Return the one stack beside a checkpoint, with the same pairs and tokenizer; None without one."""
    name = checkpoint.name + ONE_STACK
    return results.checkpoint(name) if name in one_stack_names() else None


@cached(max_entries=1, show_spinner=TEMPLATES.notice("checkpoint"))
def one_stack(checkpoint: CheckpointFiles) -> OneStackTranslator:
    """Return the translator of a checkpoint of one stack. Raises UserError."""
    return OneStackTranslator.load(checkpoint.folder)


@cached(max_entries=STUDIES, show_spinner=False)
def traces(request: TranslationRequest, stack: CheckpointFiles, prefix: bool = False) -> tuple[OneStackTrace, Trace]:
    """Return the trace of a one stack, and the encoder-decoder's of the same translation: of the same tokens."""
    trace = one_stack(stack).trace(results.source(request), prefix=prefix)
    return trace, results.translator(request.checkpoint).trace(trace.source_text, target=trace.target_ids)
