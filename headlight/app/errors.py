"""Sentences of errors in the language of the interface."""

import re

from headlight.language import ENGLISH, number, speaking

from .finding import Templates

TEMPLATES = Templates.beside(__file__)
_FIELD = re.compile(r"\\\{(\w+)\\\}")


def error_text(error: Exception) -> str:
    """Return an error's sentence, translated where texts.toml has its English one as a template."""
    with speaking(ENGLISH):
        templates = TEMPLATES.texts
    for name, template in templates.items():
        if match := re.fullmatch(_FIELD.sub(r"(?P<\1>.+)", re.escape(template)), str(error)):
            values = {key: number(each) if each[0].isdigit() else each for key, each in match.groupdict().items()}
            return TEMPLATES.text(name, **values)
    return str(error)
