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
    from transformer.interpret.what_if.intervention import Focus, Forbid, Mean, SetWeights, Shift, Uniform, Zero

    from . import plots
    from .notebook import Trace, Translator, load

__all__ = [
    "Beam",
    "Decoding",
    "Focus",
    "Forbid",
    "SetWeights",
    "Greedy",
    "Mean",
    "Sampling",
    "Shift",
    "Trace",
    "Translator",
    "Uniform",
    "Zero",
    "load",
    "plots",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "plots":
        return importlib.import_module("headlight.plots")
    import transformer
    from transformer.interpret.what_if import intervention

    from . import notebook

    return getattr(next(each for each in (notebook, intervention, transformer) if name in vars(each)), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
