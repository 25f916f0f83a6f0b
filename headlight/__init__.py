"""See an encoder-decoder Transformer translate, head by head: `import headlight as hl`.

    model = hl.load("en-de")
    trace = model.trace("I love my teacher.")
    trace.cross[2, 4]                                   # layer 3, head 5: [output tokens, source tokens]
    hl.plots.head(trace, "cross", layer=2, head=4)
    model.trace("I love my teacher.", interventions=[hl.Zero("cross", 2, 4)])

What stands here is imported when it is first used: the app's first script must draw before PyTorch has been read.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformer import Beam, Decoding, Greedy, Sampling
    from transformer.interpret.activations import RESIDUAL_STREAM
    from transformer.interpret.score_parts import explain_score
    from transformer.interpret.what_if.custom import Apply, Patch
    from transformer.interpret.what_if.intervention import Focus, Forbid, Mean, Rows, SetWeights, Shift, Uniform, Zero

    from . import plots
    from .notebook import Trace, Translator, load

__all__ = [
    "RESIDUAL_STREAM",
    "Apply",
    "Beam",
    "Decoding",
    "Focus",
    "Forbid",
    "SetWeights",
    "Greedy",
    "Mean",
    "Patch",
    "Rows",
    "Sampling",
    "Shift",
    "Trace",
    "Translator",
    "Uniform",
    "Zero",
    "explain_score",
    "load",
    "plots",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "plots":
        return importlib.import_module("headlight.plots")
    from transformer import translator
    from transformer.interpret import activations, score_parts
    from transformer.interpret.what_if import custom, intervention

    from . import notebook

    homes = (notebook, custom, intervention, activations, score_parts, translator)
    return getattr(next(each for each in homes if name in vars(each)), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
