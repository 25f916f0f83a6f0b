"""A component as one HTML file that needs no server and no network.

The file's Content-Security-Policy allows its one style and its one script, by their hashes, and images within the file
(for PNG), and forbids all else. Content from users and models is text in it.
"""

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from headlight.components.bundle import BundleError, in_words, joined, read_parts
from headlight.language import language, texts_beside

_FOLDER = Path(__file__).parent / "standalone_page"
_text = texts_beside(__file__)
_BYTES = "base64 bytes"  # the name that page.js knows bytes by


@dataclass(frozen=True)
class Words:
    """Plain texts around a component, of which empty ones are left out."""

    title: str
    source: str = ""
    translation: str = ""
    checkpoint: str = ""
    look_for: str = ""
    goal: str = ""
    made_from: str = ""  # in place of a checkpoint


def standalone(entry: str, data: object, words: Words, choice: Mapping[str, str] | None = None) -> str:
    """Return the HTML of a page with a component, by its entry as in `read_parts`, and its data.

    data: as in the app, JSON and bytes, which are sent as base64; choice: the component's parameters of an address.
    The component's reports are ignored.
    """
    parts = read_parts(entry)
    style = (_FOLDER / "page.css").read_text(encoding="utf-8") + parts.style
    modules, (component, start) = joined(parts.module, _FOLDER / "page.js")
    script = f"{modules}{start}({component});\n"
    keeps_within(entry, script=script, style=style)
    made_by = _text("checkpoint", name=words.checkpoint) if words.checkpoint else _text("model")
    return filled(
        _FOLDER / "page.html",
        policy=policy(script, style),
        title=html.escape(words.title),
        style=style,
        above=_paragraphs(goal=words.goal, source=words.source, translation=words.translation),
        markup=parts.markup,
        below=_paragraphs(look_for=words.look_for, made_by=words.made_from or made_by),
        data=as_json({"data": data, "choice": choice}),
        script=script,
    )


def filled(body: Path, **places: str) -> str:
    """Return a page of the common head and a body, with texts in their places: `policy`, `title`, `style`, …"""
    return Template(in_words(_FOLDER / "head.html") + in_words(body)).substitute(places, language=language())


def keeps_within(name: str, **texts: str) -> None:
    """Raise BundleError for a script or a style, by its tag, that would end early in a page."""
    for tag, text in texts.items():
        if f"</{tag}" in text.lower():
            raise BundleError(f"{name}: its {tag} would end early in a page, at </{tag}")


def policy(script: str, style: str, *, compiles: bool = False, works: bool = False) -> str:
    """Return the Content-Security-Policy of a page with one script and one style.

    compiles: whether it may compile WebAssembly; works: whether it may start a worker of its own text.
    """
    scripts = f"{_hash(script)} 'wasm-unsafe-eval'" if compiles else _hash(script)
    workers = "worker-src blob:; " if works else ""
    return (
        f"default-src 'none'; script-src {scripts}; style-src {_hash(style)}; {workers}img-src data:; font-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def as_json(data: object) -> str:
    """Return JSON without "<", which could end its element or begin a comment."""
    text = json.dumps(data, default=_encoded, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c")


def _encoded(value: object) -> dict[str, str]:
    if not isinstance(value, bytes):
        raise TypeError(f"a page holds JSON and bytes, got {type(value).__name__}")
    return {_BYTES: base64.b64encode(value).decode("ascii")}


def _paragraphs(**texts: str) -> str:
    return "".join(f"<p>{html.escape(_text(name, text=text))}</p>" for name, text in texts.items() if text)
