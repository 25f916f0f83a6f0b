"""inseq's HTML of the attention of one sentence, with the same weights, as a Marian model."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from transformer import Translator
from transformer.exchange.exporting import export_marian
from transformer.interpret.trace import Trace


def inseq_page(translator: Translator, trace: Trace) -> Callable[[], bytes]:
    """What makes inseq's HTML of a trace's sentence and translation; the attribution itself is done before.

    inseq shows one map, the mean over layers and heads of the cross-attention.
    """
    import inseq

    with tempfile.TemporaryDirectory() as folder:
        export_marian(translator.checkpoint, made := Path(folder) / "marian")
        model = inseq.load_model(str(made), "attention")
        found = model.attribute(trace.source_text, trace.target_text, show_progress=False)
    return lambda: found.show(display=False, return_html=True).encode()
