"""A class that predicts together: its teacher's acts, its store, and the routes of its phones.

`__init__.pyi` lists the public names. The server imports the routes when it starts: nothing here imports PyTorch,
pandas or sqlite3 before a class needs it.
"""

from transformer import open_door

__getattr__, __all__ = open_door(__name__, __file__)
