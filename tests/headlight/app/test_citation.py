"""The citation of a view: program, weights and address."""

import hashlib
import os
import shutil
from urllib.parse import parse_qs

import pytest
import streamlit as st
from support.pages import ROOT, open_page, unfolded

from headlight.app import results
from transformer import __version__

ADDRESS = {"text": "A <b>dog</b> & “a cat”, 100 %?", "checkpoint": "reverse", "rows": "input token"}


def cite(app) -> tuple[str, str]:
    """Return the text and the link of the citation."""
    unfolded(app, "cite")
    assert not app.exception
    return next(code.value for code in app.code if "SHA-256" in code.value).rsplit(" ", 1)


@pytest.mark.parametrize("path", ["", "/attention"])
def test_a_citation_has_the_address_without_foreign_names(monkeypatch, path):
    """Streamlit's address of the app may or may not contain the page."""
    monkeypatch.setattr(type(st.context), "url", f"https://lab.example/headlight{path}")
    app = open_page("pages/attention.py", utm_source="elsewhere", **ADDRESS)
    assert not app.code, "the citation is computed when it is opened"
    text, link = cite(app)
    address, _, query = link.partition("?")
    assert address == "https://lab.example/headlight/attention"
    names = {name: value for name, (value,) in parse_qs(query).items()}
    assert names.items() >= ADDRESS.items() and "utm_source" not in names
    assert f"Headlight {__version__}." in text and "Checkpoint reverse," in text


def test_replaced_weights_of_the_same_size_are_cited_by_their_own_hash(monkeypatch, tmp_path):
    shutil.copytree(ROOT / "checkpoints" / "reverse", tmp_path / "mine", ignore=shutil.ignore_patterns("resume"))
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    monkeypatch.setattr(type(st.context), "url", "http://localhost:8501/")
    weights, app = tmp_path / "mine" / "model.safetensors", open_page("pages/home.py", text="a")
    for last in (0, 1):
        weights.write_bytes(weights.read_bytes()[:-1] + bytes([last]))
        os.utime(weights, ns=(last + 1, last + 1))
        text, link = cite(app)
        assert f"SHA-256 {hashlib.sha256(weights.read_bytes()).hexdigest()[:12]}." in text
        assert link.startswith("http://localhost:8501/?text=a")
