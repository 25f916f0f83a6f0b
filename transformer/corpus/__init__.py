"""Measurements over corpora: one pass over sentence pairs by one or many processes, and the tables it makes.

`__init__.pyi` lists the public names.
"""

from .. import open_door

__getattr__, __all__ = open_door(__name__, __file__)
