"""Sentences of errors: raised in English, shown in the language of the interface."""

import re

import pytest
from support.source_files import ROOT

from headlight.app.errors import TEMPLATES, error_text
from headlight.language import speaking
from transformer.errors import TooLongError, UserError

FOLDERS = "headlight", "transformer"
SOURCE = "".join(path.read_text("utf-8") for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def test_an_error_with_a_translation_is_shown_in_the_language_and_any_other_as_it_is():
    error = TooLongError("The text has 9,000 characters; the model reads at most 127 tokens.")
    assert error_text(error) == str(error)
    with speaking("de"):
        assert error_text(error) == "Der Text hat 9.000 Zeichen; das Modell liest höchstens 127 Tokens."
        assert error_text(UserError("No such page.")) == "No such page."


@pytest.mark.parametrize("name", TEMPLATES.texts)
def test_what_is_translated_is_raised(name):
    pieces = re.split(r"\{\w+\}", TEMPLATES.texts[name].replace("The text", "{side}").replace("The target", "{side}"))
    assert max(pieces, key=len)[:30] in SOURCE
