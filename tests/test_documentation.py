"""The README and the guides: what is printed there runs, and what is linked there exists."""

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


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda path: path.name)
def test_the_blocks_of_python_run_as_printed(page, tmp_path, monkeypatch):
    """One after the other, as in a notebook; those that need the network are marked `py`, not `python`."""
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), names)  # noqa: S102


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda path: path.name)
def test_the_commands_run_as_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "headlight" and main(arguments) == 0


def test_rows_sum_to_one_without_dropout_alone():
    (block,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "questions.md").read_text("utf-8"), re.M | re.S)
    names: dict[str, Any] = {}
    exec(compile(block, "questions.md", "exec"), names)  # noqa: S102
    sums = names["in_training"]
    printed = [float(number) for number in re.search(r"in_training\[0, 0\]  # (.*?):", block)[1].split(", ")]
    assert sums[0, 0].tolist() == pytest.approx(printed, abs=0.005)
    whole = sums[sums > 1.1]
    assert len(whole) and whole.tolist() == pytest.approx([1 / 0.9] * len(whole))
    assert names["without_dropout"].flatten().tolist() == pytest.approx([1] * 10)


@pytest.mark.parametrize("page", [*PAGES, *ANSWERS], ids=lambda path: path.name)
def test_what_is_linked_is_there(page):
    folder = ROOT if page.name == "contributing.md" else page.parent
    for link in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
        assert link.startswith("https://") or (folder / link).exists(), link


def test_the_command_line_page_has_every_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = re.findall(r"^    ([a-z]+)(?: |$)", capsys.readouterr().out, re.MULTILINE)
    assert len(listed) > 10
    told = re.findall(r"^\| `headlight ([a-z]+)", (ROOT / "docs" / "cli.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(told) == sorted(listed)


def test_the_readme_is_a_short_door():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) < 130
