"""An encoder-decoder Transformer after "Attention Is All You Need", made to be looked into.

What stands here is imported when it is first used: PyTorch takes seconds, and nothing can be said in them.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .decoding.beam import Beam
    from .decoding.sampling import Greedy, Sampling
    from .errors import UserError
    from .interpret.trace import Trace
    from .translator import Decoding, Translator

__version__ = "1.0.0"
__all__ = ["Beam", "Decoding", "Greedy", "Sampling", "Trace", "Translator", "UserError"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import errors, translator
    from .decoding import beam, sampling
    from .interpret import trace

    return getattr(next(each for each in (errors, translator, beam, sampling, trace) if name in vars(each)), name)
