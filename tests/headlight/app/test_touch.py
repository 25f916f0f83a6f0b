"""What the pages say to those who have no mouse: no sentence of theirs asks for a click."""

import ast
import re

import pytest
from support.source_files import files

# The component that shows it puts the word of a touch screen in its place (headlight/components/lib/screen.js).
PUT_RIGHT_BY_THEIR_COMPONENT = {"Click a word to hide it from the model. What happens?"}


def sentences(path):
    """All texts of a module but its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    said = {each.value for each in ast.walk(tree) if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    told = {ast.get_docstring(each, clean=False) for each in ast.walk(tree) if isinstance(each, documented)}
    return said - told - PUT_RIGHT_BY_THEIR_COMPONENT


@pytest.mark.parametrize("package", ["headlight.views", "headlight.app"])
def test_no_sentence_asks_for_a_click(package):
    asked = {
        path.name: found
        for path in files(package)
        if (found := [text for text in sentences(path) if re.search(r"\b[Cc]lick(?:ing|s)?\b", text)])
    }
    assert not asked
