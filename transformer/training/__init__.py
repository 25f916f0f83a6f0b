"""From a configuration and a corpus to a checkpoint (paper, section 5). `__init__.pyi` lists the public names."""

from .. import open_door

__getattr__, __all__ = open_door(__name__, __file__)
