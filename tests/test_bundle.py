"""The bundler: a component's modules as one, each once and in order, and a clear word for what it cannot hold."""

import re
from functools import partial
from pathlib import Path

import pytest

from headlight.components import show
from headlight.components.bundle import FOLDER, BundleError, bundle, joined, read_parts, slimmed, slimmed_style
from headlight.components.standalone import Words, standalone

ENTRIES = sorted(path for path in FOLDER.glob("*/*.js") if re.search(r"^export default ", path.read_text(), re.M))


@pytest.fixture
def write(tmp_path):
    """A function that writes modules by their names and gives the path of the first."""

    def write(**sources: str) -> Path:
        for name, source in sources.items():
            (tmp_path / f"{name}.js").write_text(source, encoding="utf-8")
        return tmp_path / f"{next(iter(sources))}.js"

    return write


def modules(text: str) -> list[str]:
    """The names of a bundle's modules, in its order."""
    return re.findall(r"^// \S+/(\w+)\.js$", text, re.MULTILINE)


def test_a_module_comes_after_what_it_imports_and_only_once(write):
    entry = write(
        entry='import { b } from "./left.js";\nimport { c } from "./right.js";\nexport default b + c;\n',
        left='import { a } from "./base.js";\nexport const b = a;\n',
        right='import { a } from "./base.js";\nexport const c = a;\n',
        base="export const a = 1;\n",
    )
    assert modules(bundle(entry)) == ["base", "left", "right", "entry"]


def test_what_is_exported_is_handed_on_and_the_rest_stays_private(write):
    entry = write(
        entry='import {\n  a,\n  make as b,\n} from "./base.js";\nconst size = 2;\nexport default a + b(size);\n',
        base="const size = 1;\nexport const a = size;\nexport function make(x) {\n  return x;\n}\nexport class C {}\n"
        "export function* each() {}\n",
    )
    text = bundle(entry)
    assert "const module1 = (() => {\nconst size = 1;\nconst a = size;\n" in text
    assert "return { a, make, C, each };\n})();\n" in text
    assert "const { a, make: b } = module1;\nconst size = 2;\nconst entry = a + b(size);\nreturn { entry };" in text
    assert text.endswith("export default module2.entry;\n")
    assert len(re.findall(r"^export", text, re.MULTILINE)) == 1 and not re.search(r"^import", text, re.MULTILINE)


def test_a_folder_above_is_followed(write, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "shared.js").write_text("export const a = 1;\n")
    (tmp_path / "room").mkdir()
    entry = tmp_path / "room" / "entry.js"
    entry.write_text('import { a } from "../lib/shared.js";\nexport default a;\n')
    assert modules(bundle(entry)) == ["shared", "entry"]


@pytest.mark.parametrize(
    "sources, words",
    [
        ({"entry": 'import { a } from "./gone.js";\n'}, "entry.js imports .*gone.js, which does not exist"),
        (
            {"entry": 'import { a } from "./other.js";\n', "other": 'import { b } from "./entry.js";\n'},
            "circle: .*entry.js -> .*other.js -> .*entry.js",
        ),
        ({"entry": 'import { b } from "./base.js";\n', "base": "const b = 1;\n"}, "./base.js does not export b"),
        (
            {"entry": 'import { a } from "./base.js";\nfunction a() {}\n', "base": "export const a = 1;\n"},
            "declared twice: a",
        ),
        (
            {
                "entry": 'import { a } from "./one.js";\nimport { a } from "./two.js";\n',
                "one": "export const a = 1;\n",
                "two": "export const a = 2;\n",
            },
            "declared twice: a",
        ),
        ({"entry": 'import * as all from "./base.js";\n', "base": "export const a = 1;\n"}, "cannot bundle import"),
        ({"entry": 'import { a } from "https://cdn.example/a.js";\n'}, "cannot bundle import"),
        ({"entry": "const a = 1;\nexport { a };\n"}, "cannot bundle export"),
        ({"entry": "export const a = 1;\n"}, "needs an export default"),
    ],
)
def test_what_a_bundle_cannot_hold_is_refused_by_name(sources, words, write):
    with pytest.raises(BundleError, match=words):
        bundle(write(**sources))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda path: path.stem)
def test_every_component_is_one_module_that_loads_nothing(entry):
    text = bundle(entry)
    held = re.findall(r"^// (\S+\.js)$", text, re.MULTILINE)
    assert held and len(held) == len(set(held))
    assert text.count("\nexport ") == 1 and not re.search(r"^import |import\(|https?://(?!www\.w3\.org)", text, re.M)


def test_there_is_a_component_for_every_folder():
    assert {path.parent.name for path in ENTRIES} == {path.name for path in FOLDER.iterdir() if path.is_dir()} - {
        "lib",
        "export",
        "node_modules",
        "__pycache__",
    }


def test_token_text_is_never_set_as_html():
    for path in (*FOLDER.glob("*/*.js"), *FOLDER.glob("*/payloads/*.js")):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", path.read_text()), path.name


def test_two_entries_share_what_both_import(write):
    entry = write(
        entry='import { a } from "./base.js";\nexport default a;\n',
        other='import { a } from "./base.js";\nexport default a + 1;\n',
        base="export const a = 1;\n",
    )
    text, (first, second) = joined(entry, entry.with_name("other.js"))
    assert modules(text) == ["base", "entry", "other"]
    assert first != second and {first, second} == {"module2.entry", "module3.entry"}


def test_a_default_is_imported_by_a_name(write):
    entry = write(
        entry='import { default as make, a } from "./base.js";\nexport default make(a);\n',
        base="export const a = 1;\nexport default (x) => x;\n",
    )
    assert "const { entry: make, a } = module1;" in bundle(entry)


def test_a_part_may_include_the_markup_and_the_style_of_another(tmp_path):
    for name, content in {
        "x.js": "export default 1;\n",
        "x.html": "<div>\n<!-- lib/controls.html -->\n</div>\n",
        "x.css": ".x {\n/* lib/chips.css */\n}\n/* as chips.css has it */\n",
    }.items():
        (tmp_path / name).write_text(content)
    parts = read_parts(str(tmp_path / "x"))
    assert parts.markup == f"<div>\n{(FOLDER / 'lib' / 'controls.html').read_text('utf-8')}</div>\n"
    assert parts.style.endswith(
        f".x {{\n{(FOLDER / 'lib' / 'chips.css').read_text('utf-8')}}}\n/* as chips.css has it */\n"
    )


def test_a_page_whose_script_would_end_early_is_refused(tmp_path):
    for name, content in {"x.js": 'export default "</SCRIPT>";\n', "x.html": "<p></p>", "x.css": ""}.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(BundleError, match="script would end early"):
        standalone(str(tmp_path / "x"), {}, Words("x"))


def test_a_page_holds_json_and_bytes_alone():
    with pytest.raises(TypeError, match="JSON and bytes, got set"):
        standalone("token_lines/lines", {"tokens": {1}}, Words("x"))
    with pytest.raises(ValueError):
        standalone("token_lines/lines", {"weight": float("nan")}, Words("x"))


def test_what_a_component_says_after_its_page_was_left_is_told_to_nobody(monkeypatch):
    """Streamlit calls back for it, but the state under the component's key is gone by then."""
    mounted, said, state = {}, [], {"steps": {"choice": "3"}}
    monkeypatch.setattr("streamlit.components.v2.component", lambda *names, **parts: partial(dict.update, mounted))
    monkeypatch.setattr("streamlit.session_state", state)
    show._declare.cache_clear()
    show.head_switches({}, "zero", "", "steps", said.append)
    show._declare.cache_clear()
    mounted["on_choice_change"]()
    state.clear()
    mounted["on_choice_change"]()
    assert said == ["3"]


def test_a_script_is_slimmed_without_a_change_of_what_it_says():
    script = (
        "// head\nfunction a() {\n  // why\n  return `// ${b} //`; // the text\n}\n\n"
        'const at = "http://x // y", c = 1; // it\'s kept\n'
    )
    expected = 'function a() {\nreturn `// ${b} //`;\n}\nconst at = "http://x // y", c = 1; // it\'s kept\n'
    assert slimmed(script) == expected
    assert slimmed_style("/* a */\n.a {\n  /* b\n  c */ color: red;\n}\n") == ".a {\ncolor: red;\n}\n"


def test_no_template_goes_over_several_lines():
    """`slimmed` would take their indentation."""
    for path in FOLDER.glob("*/*.js"):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert line.count("`") % 2 == 0, (path, line)
