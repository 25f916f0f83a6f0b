"""A small tokenizer of JavaScript: its strings, and the calls of a function with their arguments."""

import re
from collections.abc import Iterator

_EXPRESSION = r"\$\{(?:[^{}`]|\{[^{}]*\}|`[^`]*`)*\}"
_TOKEN = re.compile(
    rf"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|{_EXPRESSION}|[^`\\])*`"""
    r"""|(?:(?<=[(,=:!&|?])|(?<=[(,=:!&|?] )|(?<=return ))/(?![*/])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n])+/[a-z]*""",
    re.DOTALL,
)


def strings(source: str) -> Iterator[tuple[int, str]]:
    """Yield the position of each string and template and its text with quotation marks."""
    for match in _TOKEN.finditer(source):
        if match[0][0] in "\"'`":
            yield match.start(), match[0]


def text_of(literal: str, between: str = "…") -> str:
    """Return the text of a string, with `between` in place of each expression in a template."""
    return re.sub(_EXPRESSION, lambda _: between, literal[1:-1])


def calls(source: str, function: str) -> Iterator[list[str]]:
    """Yield the arguments of each call of a function."""
    skipped = [match.span() for match in _TOKEN.finditer(source) if match[0].startswith(("//", "/*"))]
    for match in re.finditer(rf"(?<![.\w]){function}\(", source):
        if not any(start <= match.start() < end for start, end in skipped):
            yield split(source, match.end())


def split(source: str, at: int = 0, separators: str = ",") -> list[str]:
    """Return the parts of an expression between separators outside brackets, up to its closing bracket or its end."""
    parts, depth, start = [], 0, at
    while at < len(source):
        if (token := _TOKEN.match(source, at)) and not source[at].isspace():
            at = token.end()
            continue
        if source[at] in ")]}" and not depth:
            break
        depth += (source[at] in "([{") - (source[at] in ")]}")
        if source[at] in separators and not depth:
            parts.append(source[start:at])
            start = at + 1
        at += 1
    return [part.strip() for part in [*parts, source[start:at]] if part.strip()]
