"""The README and the guides: their code runs, and their links lead to existing files."""

import re
import shlex
from typing import Any

import pytest
from support.source_files import ROOT

from headlight.__main__ import main

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
ANSWERS = sorted((ROOT / "docs" / "answers").glob("*.md"))
WITH_CODE = [ROOT / "README.md", ROOT / "docs" / "python.md", *ANSWERS]
WITH_COMMANDS = [page for page in ANSWERS if "```console" in page.read_text("utf-8")]


def run_blocks(text: str) -> dict[str, Any]:
    """Run blocks of Python one after the other and return their names; `py` marks blocks that need the network."""
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    assert blocks
    for block in blocks:
        exec(compile(block, "guide", "exec"), names)  # noqa: S102
    return names


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda path: path.name)
def test_the_blocks_of_python_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_blocks(page.read_text("utf-8"))


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda path: path.name)
def test_the_commands_run_as_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "headlight" and main(arguments) == 0


def test_rows_sum_to_one_without_dropout_alone():
    text = (ROOT / "docs" / "questions.md").read_text("utf-8")
    names = run_blocks(text)
    sums = names["in_training"]
    printed = [float(number) for number in re.search(r"in_training\[0, 0\]  # (.*?):", text)[1].split(", ")]
    assert sums[0, 0].tolist() == pytest.approx(printed, abs=0.005)
    complete = sums[sums > 1.1]
    assert len(complete) and complete.tolist() == pytest.approx([1 / 0.9] * len(complete))
    assert names["without_dropout"].flatten().tolist() == pytest.approx([1] * 10)


@pytest.mark.parametrize("page", [*PAGES, *ANSWERS], ids=lambda path: path.name)
def test_links_lead_to_files_that_exist(page):
    folder = ROOT if page.name == "contributing.md" else page.parent
    for link in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
        assert link.startswith("https://") or (folder / link).exists(), link


def test_the_command_line_page_has_every_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    commands = re.findall(r"^    ([a-z]+)(?: |$)", capsys.readouterr().out, re.MULTILINE)
    documented = re.findall(r"^\| `headlight ([a-z]+)", (ROOT / "docs" / "cli.md").read_text("utf-8"), re.MULTILINE)
    assert len(commands) > 10 and sorted(documented) == sorted(commands)
