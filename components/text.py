"""Text from visitors, checkpoints and models, made safe to stand in Markdown."""

_SIGNS = frozenset(r"\`*_{}[]()<>#+-.!|$:~&")


def plain(text: str) -> str:
    """The text with every sign of Markdown's escaped, so that it shows as it is written."""
    return "".join(f"\\{character}" if character in _SIGNS else character for character in text)
