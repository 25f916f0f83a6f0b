"""The bundler: every module once and in order, errors for modules that it cannot bundle, and pages of one file."""

import re
from pathlib import Path

import pytest

from headlight.components.bundle import FOLDER, BundleError, bundle, read_parts, slimmed, slimmed_style
from headlight.components.standalone import Words, standalone

ENTRIES = sorted(path for path in FOLDER.glob("*/*.js") if re.search(r"^export default ", path.read_text(), re.M))
NO_COMPONENTS = {"lib", "export", "node_modules", "__pycache__"}


@pytest.fixture
def write(tmp_path):
    """Return a function that writes modules by their names, and texts, and returns the path of the first."""

    def write(**sources: str) -> Path:
        for name, source in sources.items():
            path = tmp_path / (f"{name}.toml" if name.endswith("/texts") else f"{name}.js")
            path.parent.mkdir(exist_ok=True)
            path.write_text(source, encoding="utf-8")
        return tmp_path / f"{next(iter(sources))}.js"

    return write


def modules(text: str) -> list[str]:
    """Return the names of a bundle's modules in their order."""
    return re.findall(r"^// \S+/(\w+)\.js$", text, re.MULTILINE)


def test_a_module_comes_once_after_its_imports(write):
    sources = {
        "room/entry": 'import { b } from "./left.js";\nimport { c } from "../lib/right.js";\nexport default b + c;\n',
        "room/left": 'import { a } from "../lib/base.js";\nexport const b = a;\n',
        "lib/right": 'import { a } from "./base.js";\nexport const c = a;\n',
        "lib/base": "export const a = 1;\n",
    }
    assert modules(bundle(write(**sources))) == ["base", "left", "right", "entry"]


def test_exports_are_handed_on_and_other_names_stay_private(write):
    entry = write(
        entry='import {\n  a,\n  make as b,\n  default as d,\n} from "./base.js";\nconst size = 2;\n'
        "export default a + b(size) + d;\n",
        base="const size = 1;\nexport const a = size;\nexport function make(x) {\n  return x;\n}\nexport class C {}\n"
        "export function* each() {}\nexport default 3;\n",
    )
    text = bundle(entry)
    assert "const module1 = (() => {\nconst size = 1;\nconst a = size;\n" in text
    assert "return { a, make, C, each, entry };\n})();\n" in text
    assert "const { a, make: b, entry: d } = module1;\nconst size = 2;\nconst entry = a + b(size) + d;" in text
    assert text.endswith("return { entry };\n})();\nexport default module2.entry;\n")
    assert len(re.findall(r"^export", text, re.MULTILINE)) == 1 and not re.search(r"^import", text, re.MULTILINE)


SAYING = 'import { say } from "./texts.toml";\nexport default say("it");\n'


def test_a_module_is_given_its_own_table_of_texts(write):
    texts = '# of both\n[entry]\nit = "“{a}” \\"x\\""\nrows.one = "row"\nrows.other = "rows"\n\n[other]\nmore = "no"\n'
    entry = write(**{"room/entry": SAYING, "room/texts": texts, "lib/texts_": "export const sayer = 1;\n"})
    (entry.parents[1] / "lib" / "texts_.js").rename(entry.parents[1] / "lib" / "texts.js")
    text = bundle(entry)
    table = r'{"it": "“{a}” \"x\"", "rows": {"one": "row", "other": "rows"}}'
    assert f"const {{ sayer }} = module1;\nconst say = sayer({table});\nreturn {{ say }};" in text
    assert "const { say } = module2;\nconst entry = say(" in text and '"no"' not in text


@pytest.mark.parametrize(
    ("message", "sources"),
    [
        ("texts.toml/entry lacks it", {"r/entry": SAYING, "r/texts": '[entry]\nelse = "x"\n[other]\nit = "x"\n'}),
        ("not a table or a string of one line: it = 3", {"r/entry": SAYING, "r/texts": "[entry]\nit = 3\n"}),
        ("not a table or a string.*: it.two = ", {"r/entry": SAYING, "r/texts": '[entry]\nit.two = "x"\n'}),
        ("entry.js imports .*gone.js, which does not exist", {"entry": 'import { a } from "./gone.js";\n'}),
        (
            "circle: .*entry.js -> .*other.js -> .*entry.js",
            {"entry": 'import { a } from "./other.js";\n', "other": 'import { b } from "./entry.js";\n'},
        ),
        ("./base.js does not export b", {"entry": 'import { b } from "./base.js";\n', "base": "const b = 1;\n"}),
        (
            "declared twice: a",
            {
                "entry": 'import { a } from "./one.js";\nimport { a } from "./two.js";\n',
                "one": "export const a = 1;\n",
                "two": "export const a = 2;\n",
            },
        ),
        ("cannot bundle import", {"entry": 'import * as all from "./base.js";\n', "base": "export const a = 1;\n"}),
        ("cannot bundle export", {"entry": "const a = 1;\nexport { a };\n"}),
        ("needs an export default", {"entry": "export const a = 1;\n"}),
    ],
)
def test_an_invalid_bundle_is_refused(message, sources, write):
    with pytest.raises(BundleError, match=message):
        bundle(write(**sources))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda path: path.stem)
def test_every_component_is_one_module_that_loads_nothing(entry):
    text = bundle(entry)
    assert modules(text) and text.count("\nexport ") == 1
    assert not re.search(r"^import |import\(|https?://(?!www\.w3\.org)", text, re.MULTILINE)
    folders = {path.name for path in FOLDER.iterdir() if path.is_dir()}
    assert {path.parent.name for path in ENTRIES} == folders - NO_COMPONENTS


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*/*.js")), ids=lambda path: path.stem)
def test_a_script_sets_no_html_and_has_no_template_of_several_lines(path):
    """`slimmed` would remove the indentation of a template."""
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", text)
    assert not [line for line in text.splitlines() if line.count("`") % 2]


def test_markup_and_style_include_others(tmp_path):
    (tmp_path / "x.html").write_text("<div>\n<!-- lib/controls.html -->\n</div>\n")
    (tmp_path / "x.css").write_text(".x {\n/* lib/chips.css */\n}\n/* as chips.css has it */\n")
    parts, lib = read_parts(str(tmp_path / "x")), FOLDER / "lib"
    controls = (lib / "controls.html").read_text("utf-8").replace("{{step}}", "Step").replace("{{speed}}", "Speed")
    assert parts.markup == f"<div>\n{controls}</div>\n"
    assert parts.style.endswith(f".x {{\n{(lib / 'chips.css').read_text('utf-8')}}}\n/* as chips.css has it */\n")


def test_texts_around_a_component_are_set_as_text():
    marked = "<b>red</b>"
    page = standalone("token_lines/lines", {}, Words(*[marked] * 6))
    assert marked not in page and page.count("&lt;b&gt;red&lt;/b&gt;") >= 5


def test_a_page_refuses_a_script_that_ends_early_and_data_that_is_no_json(tmp_path):
    for name, content in {"x.js": 'export default "</SCRIPT>";\n', "x.html": "<p></p>", "x.css": ""}.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(BundleError, match="script would end early"):
        standalone(str(tmp_path / "x"), {}, Words("x"))
    with pytest.raises(TypeError, match="JSON and bytes, got set"):
        standalone("token_lines/lines", {"tokens": {1}}, Words("x"))
    with pytest.raises(ValueError):
        standalone("token_lines/lines", {"weight": float("nan")}, Words("x"))


def test_slimming_removes_comments_and_indentation_alone():
    script = (
        "// head\nfunction a() {\n  // why\n  return `// ${b} //`; // the text\n}\n\n"
        'const at = "http://x // y", c = 1; // it\'s kept\n'
    )
    expected = 'function a() {\nreturn `// ${b} //`;\n}\nconst at = "http://x // y", c = 1; // it\'s kept\n'
    assert slimmed(script) == expected
    assert slimmed_style("/* a */\n.a {\n  /* b\n  c */ color: red;\n}\n") == ".a {\ncolor: red;\n}\n"
