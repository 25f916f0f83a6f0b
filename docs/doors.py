"""Extension of Griffe, which reads the API pages: `from .module import name as name` makes a name public."""

import ast
from typing import Any

import griffe


class RedundantAliases(griffe.Extension):
    """Take the names of a package's stub for its own: mkdocstrings leaves out what is imported."""

    def on_alias_instance(self, *, node: ast.AST, alias: griffe.Alias, **_: Any) -> None:
        """Mark an alias that repeats its name as public."""
        names = node.names if isinstance(node, ast.ImportFrom) else []
        if any(name.name == name.asname == alias.name for name in names):
            alias.public = True
