"""An encoder-decoder Transformer after "Attention Is All You Need", made to be looked into."""

from .beam import Beam
from .decoding import Greedy, Sampling
from .errors import UserError
from .trace import Trace
from .translator import Translator

__all__ = ["Beam", "Greedy", "Sampling", "Trace", "Translator", "UserError"]
