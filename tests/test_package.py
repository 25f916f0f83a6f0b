"""The package that pip builds: its files, and its commands outside the repository."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from support.server import free_port, wait_for
from support.source_files import ROOT, files

from transformer import Translator, __version__

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TOOLS = ("eslint.config.js", "package.json", "package-lock.json")  # of the tests of the JavaScript
CHECKPOINTS = ("en-de", "en-de-one-stack", "en-fr", "reverse")
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built without a network from a copy with files that do not belong to it."""
    copy, out = tmp_path_factory.mktemp("copy") / "headlight", tmp_path_factory.mktemp("wheel")
    others = (".git", ".venv", "node_modules", "tests", "docs", "benchmarks", "build", "__pycache__")
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*others))
    shutil.copytree(copy / "checkpoints" / "reverse", copy / "checkpoints" / "of-my-own")
    (copy / "checkpoints" / "reverse" / "model.safetensors.part").write_bytes(b"half")
    (copy / "headlight" / "components" / "node_modules" / "other").mkdir(parents=True)
    (copy / "headlight" / "components" / "node_modules" / "other" / "index.js").write_text("export {};")
    subprocess.run([*PIP, "wheel", copy, "--no-deps", "--no-build-isolation", "--wheel-dir", out], check=True)
    (wheel,) = out.iterdir()
    return wheel


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """A folder with the installed package alone."""
    target = tmp_path_factory.mktemp("installed")
    subprocess.run([*PIP, "install", wheel, "--no-deps", "--no-compile", "--target", target], check=True)
    return target


def start(installed: Path, folder: Path, *arguments: str) -> subprocess.Popen:
    """Start the console script in a folder outside the repository."""
    environment = {**os.environ, "PYTHONPATH": str(installed), "HEADLIGHT_DEVICE": "cpu", "OMP_NUM_THREADS": "1"}
    script = [sys.executable, "-P", installed / "bin" / "headlight", *arguments]
    return subprocess.Popen(script, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)


def test_the_wheel_has_both_packages_the_entry_and_the_shipped_checkpoints_alone(wheel):
    sources = [path for package in ("transformer", "headlight") for path in (ROOT / package).rglob("*.*")]
    names = {path.relative_to(ROOT).as_posix() for path in sources if path.is_file() and path.name not in TOOLS}
    names = {name for name in names if "__pycache__" not in name and "node_modules" not in name}
    entry = ["app.py", ".streamlit/config.toml", *(f"pages/{path.name}" for path in files("pages"))]
    names |= {f"headlight/entry/{name}" for name in entry}
    data = [path for name in CHECKPOINTS for path in (ROOT / "checkpoints" / name).iterdir() if path.is_file()]
    data += (ROOT / "configs").iterdir()
    names |= {f"transformer/{path.relative_to(ROOT).as_posix()}" for path in data if path.suffix != ".part"}
    with zipfile.ZipFile(wheel) as archive:
        assert {name for name in archive.namelist() if ".dist-info/" not in name} == names
    assert any(name.endswith("en-de/model.safetensors") for name in names) and len(names) > 250


def test_the_installed_command_translates(installed, tmp_path):
    text = "I love my teacher."
    expected = Translator.load(ROOT / "checkpoints" / "en-de", "cpu").translate([text])[0]
    with start(installed, tmp_path, "translate", text) as process:
        assert process.stdout.read().strip() == expected
    assert process.returncode == 0


def test_the_installed_app_is_served_until_it_is_terminated(installed, tmp_path):
    (tmp_path / "headlight.py").write_text("raise ImportError('a file of the current folder')")
    port = free_port()
    with start(installed, tmp_path, "app", "--headless", "--port", str(port)) as process:
        try:
            wait_for(f"http://localhost:{port}/_stcore/health", process)
        finally:
            process.terminate()
        process.wait(timeout=300)
        assert f"http://localhost:{port}" in process.stdout.read(), "the app's own settings: this machine alone"


def test_the_core_needs_no_package_of_the_app():
    """Translate, trace, tabulate and draw the explorer without the extras; figures and app name theirs."""
    code = """
import sys
sys.modules |= dict.fromkeys(("streamlit", "plotly", "google.protobuf", "uvloop", "orjson", "segno"))  # not importable
import headlight as hl
from headlight.__main__ import main
model = hl.load("reverse")
trace = model.trace("a b c d")
assert model.translate(["a b c d"]) == [trace.target_text] and len(trace.to_frame()) and "<html" in trace.show().page
try:
    hl.plots.head
except ImportError as error:
    print(error)
sys.exit(main(["app"]) and main(["lessons", "list"]))
"""
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert process.stdout == 'Figures need Plotly: pip install "headlight-transformer[plots]".\n'
    assert process.stderr.count('This command needs the app: pip install "headlight-transformer[app]".\n') == 2
    assert process.returncode == 1


def test_pinned_versions_are_in_the_ranges_of_the_package():
    extras = PROJECT["optional-dependencies"]
    assert set(extras["plots"]) < set(extras["app"])
    ranges = {each.name: each for each in map(Requirement, [*PROJECT["dependencies"], *extras["app"]])}
    pins = [Requirement(line) for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()]
    assert {pin.name for pin in pins} == ranges.keys() - {"protobuf"}  # which Streamlit brings
    for pin in pins:
        (version,) = (each.version for each in pin.specifier)
        assert ranges[pin.name].specifier.contains(version), pin.name
        assert str(ranges[pin.name].marker) == str(pin.marker), pin.name


def test_wheel_citation_and_changelog_have_one_version(wheel):
    assert wheel.name.split("-")[1] == __version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [__version__]
    assert {"cff-version", "message", "title", "authors"} <= set(re.findall(r"^([a-z-]+):", citation, re.MULTILINE))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(\d.*)\] - \d{4}-\d\d-\d\d$", changes, re.MULTILINE)[0] == __version__
