"""A component as one HTML file that needs no server and no network: to be sent, kept, and opened from a disk.

The file's Content-Security-Policy lets nothing in from outside and nothing out: its one style and its one script are
named by their hashes, an image has to be in it (the script makes a PNG of one), and all else is forbidden. What comes
from users and models is text in it, whatever it says.
"""

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from headlight.components.bundle import BundleError, joined, read_parts

_FOLDER = Path(__file__).parent / "standalone_page"
_BYTES = "base64 bytes"  # the name that page.js knows bytes by


@dataclass(frozen=True)
class Words:
    """The text around a component, all of it plain: the page's title, the sentence and its translation, the name of the
    checkpoint that computed it, what to look for, and what the page is for. What is empty is left out.
    """

    title: str
    source: str = ""
    translation: str = ""
    checkpoint: str = ""
    look_for: str = ""
    goal: str = ""


def standalone(entry: str, data: object, words: Words, choice: Mapping[str, str] | None = None) -> str:
    """The HTML of a page that shows a component, by its entry as in `read_parts`, with its data.

    The data is what the component receives in the app: JSON and bytes, which travel as base64. `choice` is what an
    address would say of it, for a component that asks for that. What the component reports is heard by nobody.
    """
    parts = read_parts(entry)
    style = (_FOLDER / "page.css").read_text(encoding="utf-8") + parts.style
    modules, (component, start) = joined(parts.module, _FOLDER / "page.js")
    script = f"{modules}{start}({component});\n"
    keeps_within(entry, script=script, style=style)
    return filled(
        _FOLDER / "page.html",
        policy=policy(script, style),
        title=html.escape(words.title),
        style=style,
        above=_paragraphs(words.goal, _labelled("Sentence", words.source), _labelled("Translation", words.translation)),
        markup=parts.markup,
        below=_paragraphs(_labelled("What to look for", words.look_for), _made_by(words.checkpoint)),
        data=as_json({"data": data, "choice": choice}),
        script=script,
    )


def filled(body: Path, **places: str) -> str:
    """Return a page: the head that all pages without a server have, and a body, with the text of their places.

    The head's places are `policy`, `title` and `style`.
    """
    parts = (path.read_text(encoding="utf-8") for path in (_FOLDER / "head.html", body))
    return Template("".join(parts)).substitute(places)


def keeps_within(name: str, **texts: str) -> None:
    """Raise BundleError for a script or a style, by its tag, that would end before its end in a page."""
    for tag, text in texts.items():
        if f"</{tag}" in text.lower():
            raise BundleError(f"{name}: its {tag} would end early in a page, at </{tag}")


def policy(script: str, style: str, *, compiles: bool = False, works: bool = False) -> str:
    """Return the Content-Security-Policy of a page with one script and one style.

    compiles: whether it may compile WebAssembly, which allows no text to be run; works: whether it may begin a worker
    that it makes itself.
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
    """Return JSON in which no "<" is left that could end its element or begin a comment."""
    text = json.dumps(data, default=_encoded, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c")


def _encoded(value: object) -> dict[str, str]:
    if not isinstance(value, bytes):
        raise TypeError(f"a page holds JSON and bytes, got {type(value).__name__}")
    return {_BYTES: base64.b64encode(value).decode("ascii")}


def _labelled(label: str, text: str) -> str:
    return f"{label}: {text}" if text else ""


def _made_by(checkpoint: str) -> str:
    model = f"the checkpoint {checkpoint}" if checkpoint else "a trained Transformer"
    return f"Made by Headlight: every number is computed by {model}. This page works without a network."


def _paragraphs(*texts: str) -> str:
    return "".join(f"<p>{html.escape(' '.join(text.split()))}</p>" for text in texts if text)
