"""The live model as one HTML file: weights, tokenizer, engine and the app's own views, without a server or a network.

The page's Content-Security-Policy is that of `standalone`, and besides lets a worker in that the page itself makes, and
WebAssembly be compiled, which is no `eval` of text. Where either is forbidden, the page computes by itself, and in
plain JavaScript.
"""

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headlight.components.bundle import SHARED_STYLES, joined, read_parts, slimmed, slimmed_style, whole
from headlight.components.standalone import as_json, filled, keeps_within, policy

_FOLDER = Path(__file__).parent
_PAGE = _FOLDER / "live_page" / "page.js"
_ENGINE = _FOLDER / "engine"
_PAGE_BEGINS = "// the page\n"  # in the script; what stands before it is the worker's, which page.js makes of it
COMPONENTS = {
    "lines": "token_lines/lines",
    "explorer": "attention_explorer/explorer",
    "player": "decoding_player/player",
    "switches": "head_switches/switches",
    "steps": "attention_steps/steps",
    "replay": "replay_player/player",
}


def live_page(header: dict, weights: bytes, words: dict, title: str, whence: str, sources: Sequence[str]) -> str:
    """Return the HTML of a page with a model in it.

    header, weights: as `transformer.exchange.int8.pack` makes them; words: what is said the same of every sentence, see
    `headlight.views.live.content`; whence: a line on where it comes from, and the sources of the model's data.
    """
    parts = {name: read_parts(entry) for name, entry in COMPONENTS.items()}
    engine, _ = joined(_ENGINE / "worker.js")
    modules, (serve, start) = joined(_ENGINE / "worker.js", _PAGE)
    script = f"{slimmed(engine)}{_PAGE_BEGINS}{slimmed(modules.removeprefix(engine))}{start}();\n"
    style = slimmed_style(whole(_PAGE.with_suffix(".css")))
    keeps_within("the live page", script=script, style=style)
    shared = "".join(whole(_FOLDER / name) for name in SHARED_STYLES)
    styles = {COMPONENTS[name]: part.style.removeprefix(shared) for name, part in parts.items()} | {"shared": shared}
    styles = {name: slimmed_style(each) for name, each in styles.items()}
    return filled(
        _PAGE.with_suffix(".html"),
        **{name: part.markup for name, part in parts.items()},
        policy=policy(script, style, compiles=True, works=True),
        title=html.escape(title),
        style=style,
        below=_below(whence, sources),
        header=as_json(header),
        words=as_json({**words, "styles": styles}),
        serve=serve,
        kernel=base64.b64encode((_ENGINE / "kernel.wasm").read_bytes()).decode("ascii"),
        weights=base64.b64encode(weights).decode("ascii"),
        script=script,
    )


def _below(whence: str, sources: Sequence[str]) -> str:
    items = "".join(f"<li>{html.escape(source)}</li>" for source in sources)
    folded = f"<details><summary>What the model was trained on</summary><ul>{items}</ul></details>" if items else ""
    return f"<p>{html.escape(whence)}</p>{folded}"


@dataclass(frozen=True)
class Entry:
    """A live page on the index: its file, what its model does, how many weights it has, its bytes when compressed."""

    file: str
    subject: str
    parameters: int
    bytes: int


def index_page(entries: Sequence[Entry]) -> str:
    """Return the HTML of a page that leads to live pages beside it."""
    style = whole(_FOLDER / "live_page" / "index.css")
    items = "".join(
        f'<li><a href="{html.escape(entry.file)}">{html.escape(entry.subject)}</a> '
        f"<span>{entry.parameters / 1e6:.1f} million weights, {entry.bytes / 1e6:.1f} MB compressed</span></li>"
        for entry in entries
    )
    return filled(
        _FOLDER / "live_page" / "index.html",
        policy=policy("", style),
        title="Headlight: live models",
        style=style,
        items=items,
    )
