"""An encoder-decoder Transformer after "Attention Is All You Need", made to be looked into."""

import os

# OpenMP's threads spin while they wait: beside another busy process decoding, a thousand small operations, took fifteen
# times as long. It reads this when PyTorch is imported; a policy that is set already stays.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from .decoding.beam import Beam  # noqa: E402
from .decoding.sampling import Greedy, Sampling  # noqa: E402
from .errors import UserError  # noqa: E402
from .interpret.trace import Trace  # noqa: E402
from .translator import Translator  # noqa: E402

__all__ = ["Beam", "Greedy", "Sampling", "Trace", "Translator", "UserError"]
