"""An encoder-decoder Transformer after "Attention Is All You Need", made to be looked into.

`__init__.pyi` lists the public names. Each is imported when it is first used: PyTorch takes seconds to import.
"""

import ast
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

__version__ = "1.0.0"


def open_door(package: str, file: str) -> tuple[Callable[[str], Any], list[str]]:
    """Return `__getattr__` and `__all__` of a package: the names that the stub beside its `__init__` exports, `X as X`.

    The public names of a package are listed once, for readers, type checkers and Python, and using one name does not
    import the modules of all others.
    """
    homes = {
        alias.name: ("." * node.level + (node.module or ""), alias.name)
        for node in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }

    def import_name(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = homes[name]
        if module == ".":
            return importlib.import_module(f".{attribute}", package)
        return getattr(importlib.import_module(module, package), attribute)

    return import_name, sorted(homes)


__getattr__, __all__ = open_door(__name__, __file__)
