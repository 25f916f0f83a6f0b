"""Proofreading: every text of a page beside its key, filled with examples, as one HTML file."""

import argparse
import contextlib
import html
import string
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from headlight.language import texts_of
from headlight.plots.tokens import in_words
from transformer.commands.options import AddCommand
from transformer.files import write_atomically
from transformer.model.heads import Head
from transformer.model.names import AttentionKind

_FOLDER = Path(__file__).parent
PAGES = {path.parent.name: [path] for path in sorted(_FOLDER.glob("views/*/texts.toml"))}
PAGES |= {name: sorted((_FOLDER / name).rglob("texts.toml")) for name in ("app", "classroom", "plots")}
_SHIPPED = (path for path in sorted(_FOLDER.glob("lessons/shipped/*.toml")) if "." not in path.stem)  # no translation
PAGES["lessons"] = [_FOLDER / "lessons/texts.toml", *_SHIPPED]
SENTENCES, EXAMPLES = 3, 4  # of a sheet, and of a template in it
NUMBERS, TOKEN = (0, 1, -1, 2, 10**12), "▁Donaudampfschifffahrtsgesellschaft"
_STYLE = "td { border-top: thin solid; padding: 4px 12px; vertical-align: top; white-space: pre-line }"


def add_commands(command: AddCommand) -> None:
    """Add the command of this file."""
    texts = command("texts", _run, "write all texts of a page with examples, to be proofread or translated")
    texts.add_argument("--page", required=True, choices=sorted(PAGES), help="the page, or another folder with texts")
    texts.add_argument("--out", type=Path, required=True, metavar="FILE.html", help="the file to write")


def _run(options: argparse.Namespace) -> None:
    write_atomically(options.out, sheet(options.page, recorded(options.page)).encode())


def texts_in(page: str) -> Iterator[tuple[str, str]]:
    """Yield each text of a page after its key: file, tables and name; of a lesson's file all with a blank."""
    for path in PAGES[page]:
        for key, text in _leaves(texts_of(path), path.relative_to(_FOLDER).as_posix()):
            if path.name == "texts.toml" or " " in text:
                yield key, text


def _leaves(value: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping | list):
        for name, each in value.items() if isinstance(value, Mapping) else enumerate(value, start=1):
            yield from _leaves(each, f"{key} › {name}")


def sheet(page: str, examples: Mapping[str, list[str]]) -> str:
    """Return the texts of a page as a table in HTML; those with numbers with their examples by template, or samples."""
    rows = ["<tr><th>key<th>template<th>examples"]
    for key, template in texts_in(page):
        shown = dict.fromkeys(examples.get(template) or samples(template)) if "{" in template else ()
        cells = key, template, in_words("\n".join([*shown][:EXAMPLES]))
        rows.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells))
    head = f'<meta charset="utf-8"><title>{page}: texts</title><style>{_STYLE}</style>'
    return f"<!doctype html>{head}<table>" + "</tr>\n".join(rows) + "</tr></table>\n"


def recorded(page: str) -> dict[str, list[str]]:
    """Return what the views of a page say of a few sentences, by template; nothing where it has no views."""
    from streamlit.testing.v1 import AppTest

    from .app import finding
    from .app.bar import examples
    from .app.entry import entry_folder

    filled: list[finding.Finding] = []
    texts: dict[str, list[str]] = defaultdict(list)
    with finding.watched(filled.append):
        for address in _addresses(page):
            for text in list(examples())[:SENTENCES]:
                app = AppTest.from_file(str(entry_folder() / "app.py"), default_timeout=300)
                app.query_params.update({"text": text, **address})
                app.switch_page(f"pages/{page}.py").run()
    for each in filled:
        texts[each.template].append(each.headline)
    return texts


def _addresses(page: str) -> list[dict[str, str]]:
    """Return the addresses of a page's views."""
    from .views.attention.page import VIEWS as ATTENTION
    from .views.decoding.page import VIEWS as DECODING
    from .views.inside.page import VIEWS as INSIDE
    from .views.positions.page import VIEWS as POSITIONS
    from .views.research.page import VIEWS as RESEARCH
    from .views.training.page import VIEWS as TRAINING
    from .views.what_if.page import VIEWS as WHAT_IF

    views: dict[str, Iterable[str]] = {"attention": ATTENTION, "decoding_view": DECODING, "inside": INSIDE}
    views |= {"positions": POSITIONS, "research": RESEARCH, "training": TRAINING, "what_if": WHAT_IF, "map": ("", "1")}
    name = {"decoding": "decoding_view", "home": "map"}.get(page, page)
    return [{name: view} for view in views.get(name, ())]


def samples(template: str) -> Iterator[str]:
    """Yield a template filled with sample values; nothing for one with a format that is not of `finding`."""
    from .app.finding import Formatter

    with contextlib.suppress(KeyError, IndexError, ValueError, TypeError):
        for numbers in fillings(template):
            yield Formatter().vformat(template, (), numbers)


def fillings(template: str) -> Iterator[dict[str, Any]]:
    """Yield values for the fields of a template, until each has had all its sample values."""
    choices = {name: _values_of(name, spec) for name, spec in _fields_of(template).items()}
    for at in range(max(map(len, choices.values()), default=1)):
        yield {name: values[min(at, len(values) - 1)] for name, values in choices.items()}


def _fields_of(template: str) -> dict[str, str]:
    """Return the format of each field, those of the formats among them."""
    parts = [(name, spec or "") for _, name, spec, _ in string.Formatter().parse(template) if name]
    return {name: spec for field, spec in parts for name, spec in (*_fields_of(spec).items(), (field, spec))}


def _values_of(name: str, spec: str) -> list:
    """Return values that a field may have by its format, the extreme ones among them."""
    kind = spec.partition(" ")[0]
    if kind in ("head", "kind_head"):
        return [Head(AttentionKind.CROSS, 0, 0), Head(AttentionKind.DECODER, 11, 15)]
    if spec.endswith(" "):  # between the items of a tuple
        return [(TOKEN,), ("a", "b", "c", "d")]
    if kind == "token" or not spec:
        return [2, 7] if name == "digits" else ["a", TOKEN, "</s>"] if spec else [f"‹{name}›", TOKEN]
    return [abs(number) if kind == "short" else number for number in NUMBERS]
