"""The live model as one HTML file: weights, tokenizer, engine and the app's views, without a server or a network.

The page's Content-Security-Policy is that of `standalone`, and allows a worker of the page and compiled WebAssembly.
Without either, the page computes without a worker, and in plain JavaScript.
"""

import base64
import gzip
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headlight.components.bundle import SHARED_STYLES, joined, read_parts, slimmed, slimmed_style, whole
from headlight.components.standalone import as_json, filled, keeps_within, policy
from headlight.language import texts_beside

_FOLDER = Path(__file__).parent
_PAGE = _FOLDER / "live_page" / "page.js"
_ENGINE = _FOLDER / "engine"
_PAGE_BEGINS = "// the page\n"  # in the script; page.js makes the worker from the text before it
_text = texts_beside(__file__)
COMPONENTS = {
    "lines": "token_lines/lines",
    "explorer": "attention_explorer/explorer",
    "player": "decoding_player/player",
    "tree": "beam_tree/tree",
    "switches": "head_switches/switches",
    "table": "translation_table/table",
    "steps": "attention_steps/steps",
    "whole_pass": "whole_pass/pass",
    "replay": "replay_player/player",
    "panel": "lesson_panel/panel",
    "quiz": "quiz/quiz",
}


def live_page(header: dict, weights: bytes, words: dict, title: str, origin: str, sources: Sequence[str]) -> str:
    """Return the HTML of a page with a model in it.

    header, weights: of `transformer.exchange.int8.pack`; words: texts and data of the views, see
    `headlight.views.live.content`; origin: a line on the page's origin; sources: of the model's training data.
    """
    parts = {name: read_parts(entry) for name, entry in COMPONENTS.items()}
    engine, _ = joined(_ENGINE / "worker.js")
    modules, (serve, start) = joined(_ENGINE / "worker.js", _PAGE)
    script = f"{slimmed(engine)}{_PAGE_BEGINS}{slimmed(modules.removeprefix(engine))}{start}();\n"
    style = font_style() + slimmed_style(whole(_PAGE.with_suffix(".css")))
    keeps_within("the live page", script=script, style=style)
    shared = "".join(whole(_FOLDER / name) for name in SHARED_STYLES)
    lacking = [f"without_{name}" for name in ("replay", "lessons") if not words.get(name)]
    styles = {COMPONENTS[name]: part.style.removeprefix(shared) for name, part in parts.items()} | {"shared": shared}
    styles[COMPONENTS["panel"]] += whole(_FOLDER / "live_page" / "lesson_panel.css")
    styles = {name: slimmed_style(each) for name, each in styles.items()}
    return filled(
        _PAGE.with_suffix(".html"),
        **{name: part.markup for name, part in parts.items()},
        policy=policy(script, style, compiles=True, works=True),
        title=html.escape(title),
        style=style,
        lacking=" ".join(lacking),
        below=_below(origin, sources),
        header=_packed(header),
        words=_packed({**words, "styles": styles}),
        serve=serve,
        kernel=base64.b64encode((_ENGINE / "kernel.wasm").read_bytes()).decode("ascii"),
        weights=base64.b64encode(weights).decode("ascii"),
        script=script,
    )


def font_style() -> str:
    """Return the app's font as a style: the Latin letters of Source Sans 3 (SIL Open Font License 1.1)."""
    data = base64.b64encode((_FOLDER / "live_page" / "source_sans.woff2").read_bytes()).decode("ascii")
    source = f'url("data:font/woff2;base64,{data}")format("woff2")'
    return f'@font-face{{font-family:"Source Sans 3";font-weight:200 900;src:{source}}}'


def _packed(data: dict) -> str:
    """Return data as base64 of gzipped JSON: less than half as long, and no HTML."""
    return base64.b64encode(gzip.compress(as_json(data).encode(), mtime=0)).decode("ascii")


def _below(origin: str, sources: Sequence[str]) -> str:
    items = "".join(f"<li>{html.escape(source)}</li>" for source in sources)
    folded = f"<details><summary>{_text('trained_on')}</summary><ul>{items}</ul></details>" if items else ""
    return f"<p>{html.escape(origin)}</p>{folded}"


@dataclass(frozen=True)
class Entry:
    """A live page on the index: its file, its model's subject and size, its compressed bytes, and its lessons."""

    file: str
    subject: str
    parameters: int
    bytes: int
    lessons: Mapping[str, str] = field(default_factory=dict)


def index_page(entries: Sequence[Entry]) -> str:
    """Return the HTML of a page with links to live pages in its folder."""
    style = whole(_FOLDER / "live_page" / "index.css")
    items = "".join(
        f'<li><a href="{html.escape(entry.file)}">{html.escape(entry.subject)}</a> '
        f"<span>{_text('size', millions=entry.parameters / 1e6, megabytes=entry.bytes / 1e6)}</span>"
        f"{_lesson_links(entry)}</li>"
        for entry in entries
    )
    return filled(
        _FOLDER / "live_page" / "index.html",
        policy=policy("", style),
        title=html.escape(_text("models")),
        style=style,
        items=items,
    )


def _lesson_links(entry: Entry) -> str:
    """Return links to the lessons of a page, in their order."""
    links = "".join(
        f'<li><a href="{html.escape(entry.file)}#home?lesson={html.escape(name)}">{html.escape(title)}</a></li>'
        for name, title in entry.lessons.items()
    )
    return f"<details><summary>{_text('lessons')}</summary><ol>{links}</ol></details>" if links else ""
