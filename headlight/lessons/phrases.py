"""The sentences of a measure as templates: each stands once, in the measure, and a page without a server has it, too.

The JavaScript of a live page measures what a measure in Python does, and says it in these words (see
headlight/components/live_page/lessons).
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator

_LETTER = re.compile(r"[^\W\d_]")
Phrases = dict[str, str]  # "For {0} this head reads {1}." by where it stands


def phrases(function: Callable[..., object]) -> Phrases:
    """Return a function's texts of several words, with {0}, {1}, … in place of what is computed.

    Their names say where they stand, in the order of the source: "truth" and "calculation" of an `Answer`, "option",
    "undecided", "said" where they are returned, else the variable that they are assigned to; the second of a name is
    "told 2". Raises OSError without the source.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    found: Phrases = {}
    for statement in body:
        for place, text in _texts(statement, "said"):
            count = sum(name.split(" ")[0] == place for name in found)
            found[f"{place} {count + 1}" if count else place] = text
    return found


def _texts(node: ast.AST, place: str) -> Iterator[tuple[str, str]]:
    """Yield the texts in a part of a function's source, each with where it stands."""
    if parts := _parts(node):
        numbers = iter(range(len(parts)))
        slots = [part for part in parts if not isinstance(part, str)]
        literal = " ".join(part for part in parts if isinstance(part, str))
        if " " in literal.strip() + " " * len(slots) and _LETTER.search(literal):
            yield place, "".join(_escaped(part) if isinstance(part, str) else f"{{{next(numbers)}}}" for part in parts)
        for slot in slots:
            yield from _texts(slot, place)
        return
    for child, where in _children(node, place):
        yield from _texts(child, where)


def _children(node: ast.AST, place: str) -> Iterator[tuple[ast.AST, str]]:
    """Yield what a part of the source is made of, and where texts in it stand."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        names = {"Answer": ["", "truth", "calculation"], "Option": ["option"] * 3, "Undecided": ["undecided"]}
        places = names.get(node.func.id, [])
        for at, argument in enumerate(node.args):
            yield argument, (places[at] if at < len(places) else "") or place
        yield from ((keyword.value, place) for keyword in node.keywords)
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        yield node.func.value, place  # "{}: {}".format(…)
        yield from ((argument, place) for argument in node.args)
        return
    targets = [node.target] if isinstance(node, (ast.AnnAssign, ast.AugAssign)) else getattr(node, "targets", [])
    if isinstance(node, ast.Return):
        place = "said"
    elif targets and isinstance(targets[0], ast.Name):
        place = targets[0].id
    yield from ((child, place) for child in ast.iter_child_nodes(node))


def _parts(node: ast.AST) -> list[str | ast.AST]:
    """Return the literal texts of an expression that is one text, and between them what is computed; [] for others."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        values = [each.value if isinstance(each, (ast.FormattedValue, ast.Constant)) else each for each in node.values]
        return [each if isinstance(each, (str, ast.AST)) else str(each) for each in values]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [_parts(side) or [side] for side in (node.left, node.right)]
        if any(isinstance(part, str) for side in sides for part in side):
            return [part for side in sides for part in side]
    return []


def _escaped(text: str) -> str:
    """Return a literal text; one that is filled by `format` has its own places, in order."""
    parts = text.split("{}")
    return parts[0] + "".join(f"{{{at}}}{part}" for at, part in enumerate(parts[1:]))
