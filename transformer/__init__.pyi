from collections.abc import Callable
from typing import Any

from .decoding.beam import Beam as Beam
from .decoding.sampling import Greedy as Greedy
from .decoding.sampling import Sampling as Sampling
from .errors import UserError as UserError
from .interpret.study import Study as Study
from .interpret.trace import Trace as Trace
from .translator import Decoding as Decoding
from .translator import Translator as Translator

__version__: str

def open_door(package: str, file: str) -> tuple[Callable[[str], Any], list[str]]: ...
