"""See an encoder-decoder Transformer translate, head by head: `import headlight as hl`.

What stands here is imported when it is first used: the app's first script must draw before PyTorch has been read.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .notebook import Trace, Translator, load

__all__ = ["Trace", "Translator", "load"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import notebook

    return getattr(notebook, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
