"""An encoder-decoder Transformer after "Attention Is All You Need", made to be looked into."""

from .decoding.beam import Beam
from .decoding.sampling import Greedy, Sampling
from .errors import UserError
from .interpret.trace import Trace
from .translator import Decoding, Translator

__version__ = "1.0.0"
__all__ = ["Beam", "Decoding", "Greedy", "Sampling", "Trace", "Translator", "UserError"]
