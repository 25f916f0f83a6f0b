"""Bundler of ES modules: a Streamlit component takes its JavaScript as one string.

`bundle` follows the relative imports of an entry module and writes every module once, in dependency order, as a
function, so that private names of two modules never clash. There is no build step and nothing to install. It reads the
forms that our modules use, each at the beginning of a line, and refuses all others:
`import { a, b as c } from "./other.js";`, with `default` among the names, `export` before a const, a function or a
class, and `export default`.

`import { say } from "./texts.toml";` is a function that fills the templates of the module's own table in texts.toml:
`say("name", { values })`, see lib/texts.js. {{name}} in HTML is a text of the table `markup`. Texts and conventions are
those of the language of the interface.
"""

import html
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from headlight.language import ENGLISH, LANGUAGES, language, texts_of

FOLDER = Path(__file__).parent
SHARED_STYLES = ("lib/colours.css", "lib/chips.css", "lib/controls.css")

_INCLUDED = re.compile(r"(?:<!--|/\*) (\S+\.(?:html|css)) (?:-->|\*/)\n")
_IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.{1,2}/[^"]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:const|function\*?|class) (\w+))", re.MULTILINE)
_DEFAULT = re.compile(r"^export default ", re.MULTILINE)
_DECLARED = re.compile(r"^(?:async )?(?:const|let|function\*?|class) (\w+)", re.MULTILINE)
_UNKNOWN = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_LANGUAGE = FOLDER / "lib" / "language.js"
_CONVENTIONS = re.compile(r"(?<=^export const LANGUAGE = ).*?(?=;$)", re.MULTILINE | re.DOTALL)
_IN_MARKUP = re.compile(r"\{\{(\w+)\}\}")
_SAID = re.compile(r'(?<![.\w])say\("(\w+)"')
_NO_TEXT = re.compile(r'^(?!\[\w+\]$|\w+(?:\.(?:one|other))? = ".*"$|#|$).*', re.MULTILINE)
_TEXTS = 'import { sayer } from "../../lib/texts.js";\nexport const say = sayer(%s);\n'


class BundleError(ValueError):
    """A module that is missing or cannot be bundled."""


@dataclass(frozen=True)
class Parts:
    """Parts of a component: its entry module, its HTML, and its style after the shared ones."""

    module: Path
    markup: str
    style: str


def read_parts(entry: str) -> Parts:
    """Return the parts of a component by its entry, a path in this folder without .js: "decoding_player/player".

    Its HTML and, where it has one, its style lie beside the entry under the same name. `<!-- lib/controls.html -->` in
    the HTML and `/* lib/chips.css */` in the style, each on a line of its own, stand for these files.
    """
    module = (FOLDER / entry).with_suffix(".js")
    markup, own_style = module.with_suffix(".html"), module.with_suffix(".css")
    styles = [*(FOLDER / name for name in SHARED_STYLES), own_style] if own_style.exists() else []
    return Parts(module, in_words(markup), "".join(map(whole, styles)))


def in_words(markup: Path) -> str:
    """Return an HTML file with the files that it includes and the texts of its folder, and of lib, in their places."""
    files = [folder / "texts.toml" for folder in (FOLDER / "lib", markup.parent)]
    texts = {name: text for file in files if file.exists() for name, text in texts_of(file).get("markup", {}).items()}
    return _IN_MARKUP.sub(lambda match: html.escape(texts[match[1]]), whole(markup))


def whole(path: Path) -> str:
    """Return a file's text with the files that it includes."""
    return _INCLUDED.sub(lambda match: (FOLDER / match[1]).read_text("utf-8"), path.read_text("utf-8"))


def bundle(entry: Path) -> str:
    """Return an entry module and all its imports as the text of one module.

    Raises BundleError for a missing module, modules that import each other in a circle, a name that its module does
    not export or declares twice, an import or export of another form than those above, an entry without a default.
    """
    text, (default,) = joined(entry)
    return f"{text}export default {default};\n"


def joined(*entries: Path) -> tuple[str, list[str]]:
    """Return the modules of several entries as one text, each once, and the name of each entry's default in it.

    Raises BundleError as `bundle`.
    """
    modules: dict[Path, _Module] = {}
    for entry in entries:
        _collect(entry.resolve(), (), modules)
        if "entry" not in modules[entry.resolve()].exports:
            raise BundleError(f"{_name(entry)}: the entry of a bundle needs an export default")
    text = "".join(module.text for module in modules.values())
    return text, [f"{modules[entry.resolve()].variable}.entry" for entry in entries]


def slimmed(script: str) -> str:
    """Return a script without indentation and comments.

    No template of ours has several lines. A comment behind code stays if it contains a quotation mark or a slash.
    """
    lines = (re.sub(r"\s+// [^\"'`/]*$", "", line.strip()) for line in script.splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("//"))


def slimmed_style(style: str) -> str:
    """Return a style sheet without its indentation and comments."""
    lines = map(str.strip, re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL).splitlines())
    return "".join(f"{line}\n" for line in lines if line)


@dataclass(frozen=True)
class _Module:
    """A module in a bundle: the variable of its exports, their names, and its text."""

    variable: str
    exports: tuple[str, ...]
    text: str


def _collect(path: Path, importers: tuple[Path, ...], modules: dict[Path, _Module]) -> None:
    """Add to `modules` the imports of a module, then the module itself."""
    if path in modules:
        return
    if path in importers:
        circle = (*importers[importers.index(path) :], path)
        raise BundleError(f"modules import each other in a circle: {' -> '.join(map(_name, circle))}")
    if not (path.is_file() or path.parent.is_file()):
        raise BundleError(f"{' imports '.join(map(_name, (*importers[-1:], path)))}, which does not exist")
    source = path.read_text(encoding="utf-8") if path.is_file() else _texts(path)
    if path == _LANGUAGE and language() != ENGLISH:
        conventions = json.dumps({"code": language(), **LANGUAGES[language()]}, ensure_ascii=False)
        source = _CONVENTIONS.sub(lambda _: conventions, source)
    for _, written in _IMPORT.findall(source):
        _collect(_target(path, written), (*importers, path), modules)
    modules[path] = _wrapped(path, source, modules)


def _wrapped(path: Path, source: str, modules: dict[Path, _Module]) -> _Module:
    """Return a module as a function that is called once; its imports are in `modules`."""
    imported: list[str] = []

    def as_constants(match: re.Match) -> str:
        other = modules[_target(path, match[2])]
        written = re.sub(r"\bdefault as\b", "entry as", match[1])
        pairs = [part.split(" as ") for part in map(str.strip, written.split(",")) if part]
        if missing := [pair[0] for pair in pairs if pair[0] not in other.exports]:
            raise BundleError(f"{_name(path)}: {match[2]} does not export {', '.join(missing)}")
        imported.extend(pair[-1] for pair in pairs)
        return f"const {{ {', '.join(': '.join(pair) for pair in pairs)} }} = {other.variable};"

    exports = _EXPORT.findall(source)
    body = _EXPORT.sub("", source)
    names = Counter(_DECLARED.findall(body))
    body = _IMPORT.sub(as_constants, body)
    names.update(imported)
    if twice := [name for name, count in names.items() if count > 1]:
        raise BundleError(f"{_name(path)}: declared twice: {', '.join(twice)}")
    if _DEFAULT.search(body):
        body = _DEFAULT.sub("const entry = ", body)
        exports.append("entry")
    if unknown := _UNKNOWN.search(body):
        raise BundleError(f"{_name(path)}: cannot bundle {unknown[0]}")
    variable = f"module{len(modules) + 1}"
    text = f"// {_name(path)}\nconst {variable} = (() => {{\n{body}return {{ {', '.join(exports)} }};\n}})();\n"
    return _Module(variable, tuple(exports), text)


def _texts(path: Path) -> str:
    """Return the source of a module's texts, given as texts.toml/module."""
    if refused := _NO_TEXT.search(path.parent.read_text(encoding="utf-8")):
        raise BundleError(f"{_name(path)}: not a table or a string of one line: {refused[0]}")
    templates = texts_of(path.parent).get(path.name, {})
    source = path.parent.with_name(f"{path.name}.js").read_text(encoding="utf-8")
    if missing := set(_SAID.findall(source)) - set(templates):
        raise BundleError(f"{_name(path)} lacks {', '.join(sorted(missing))}")
    return _TEXTS % json.dumps(templates, ensure_ascii=False)


def _target(path: Path, written: str) -> Path:
    """Return the path of an imported module; that of a module's own texts is texts.toml/module."""
    target = (path.parent / written).resolve()
    return target / path.stem if target.suffix == ".toml" else target


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
