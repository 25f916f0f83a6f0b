"""The command `film` where there is none; tests/browser/test_film.py makes some."""

import sys

import pytest

from headlight.__main__ import main

pytestmark = pytest.mark.usefixtures("command_line")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["", "--out", "film.webm"], "The text is empty"),
        (["A dog.", "--out", "none/film.webm"], "none is no folder"),
        (["A dog.", "--out", "film.avi"], "ends in .webm or .gif"),
        (["A dog.", "--out", "film.webm", "--checkpoint", "none"], "no checkpoint folder none"),
    ],
)
def test_what_can_be_no_film_is_refused_before_it_is_recorded(arguments, reason, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["film", *arguments]) == 1
    assert reason in capsys.readouterr().err


def test_without_a_browser_the_command_says_how_to_get_one(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    assert main(["film", "A dog.", "--out", str(tmp_path / "film.webm")]) == 1
    assert "playwright install chromium" in capsys.readouterr().err
