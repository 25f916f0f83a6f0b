"""The commands `app` and `page`."""

import re
from base64 import b64decode

import pytest

from headlight.__main__ import main

pytestmark = pytest.mark.usefixtures("command_line")


def test_the_app_does_not_start_without_its_checkpoints(capsys, tmp_path):
    assert main(["app", "--checkpoints", str(tmp_path / "none")]) == 1
    assert "There is no folder" in capsys.readouterr().err


def test_page_writes_the_explorer_with_roles_over_a_corpus(capsys, checkpoints, tmp_path):
    out, sentence = tmp_path / "page.html", "I love my teacher."
    assert main(["page", sentence, "--checkpoint", str(checkpoints / "en-de"), "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and f"Sentence: {sentence}" in text and "checkpoint en-de." in text
    assert f"Translation: {capsys.readouterr().out.strip()}" in text
    blob = b64decode(re.search(r'"base64 bytes":"([^"]+)"', text)[1])
    assert re.search(rb'"sentences":[0-9]+', blob)


def test_an_unwritable_page_is_reported_in_one_line(capsys, checkpoint_folder, tmp_path):
    out = str(tmp_path / "none" / "page.html")
    assert main(["page", "red", "--checkpoint", str(checkpoint_folder), "--out", out]) == 1
    error = capsys.readouterr().err.strip().splitlines()
    assert len(error) == 1 and error[0].startswith("headlight: ") and "cannot be written" in error[0]


def test_a_page_speaks_the_language_that_is_asked_for(checkpoints, tmp_path):
    for language, words in (("de", "Satz:"), ("fr", "Phrase\u00a0:"), ("en", "Sentence:")):
        out = tmp_path / f"{language}.html"
        command = ["page", "I see.", "--checkpoint", str(checkpoints / "en-de"), "--out", str(out), "--ui", language]
        assert main(command) == 0
        page = out.read_text(encoding="utf-8")
        assert f'<html lang="{language}">' in page and f"<p>{words} I see.</p>" in page
