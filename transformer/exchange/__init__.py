"""Models of other libraries: read into checkpoints, and written from them. `__init__.pyi` lists the public names."""

from .. import open_door

__getattr__, __all__ = open_door(__name__, __file__)
