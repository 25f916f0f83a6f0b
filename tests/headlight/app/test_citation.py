"""Cite this view: what is written when the popover is opened."""

import hashlib
import os
import shutil
from urllib.parse import parse_qs, urlsplit

import pytest
import streamlit as st
from support.pages import ROOT, open_page

from headlight.app import results
from transformer import __version__

ADDRESS = {"text": "A <b>dog</b> & “a cat”, 100 %?", "checkpoint": "reverse", "rows": "input token"}


def cited(app) -> str:
    """What is to be copied, once the popover is open."""
    app.session_state["cite"] = True
    app.run()
    assert not app.exception
    return next(code.value for code in app.code if "SHA-256" in code.value)


def sha256(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("url", ["https://lab.example/headlight", "https://lab.example/headlight/attention"])
def test_a_citation_names_the_program_the_weights_and_the_address_of_the_view(monkeypatch, url):
    """However Streamlit tells the address: with the page, as in a browser, or without."""
    monkeypatch.setattr(type(st.context), "url", url)
    app = open_page("pages/attention.py", **ADDRESS)
    assert not app.code, "nothing is computed before it is asked for"
    text, link = cited(app).rsplit(" ", 1)
    parts = urlsplit(link)
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == "https://lab.example/headlight/attention"
    assert {name: value for name, (value,) in parse_qs(parts.query).items()}.items() >= ADDRESS.items()
    digest = sha256(ROOT / "checkpoints" / "reverse" / "model.safetensors")
    assert (
        f"Headlight {__version__}." in text
        and f"Checkpoint reverse, model.safetensors with SHA-256 {digest[:12]}." in text
    )


def test_the_home_is_cited_without_a_page_and_names_out_of_the_register_are_left_out(monkeypatch):
    monkeypatch.setattr(type(st.context), "url", "http://localhost:8501/")
    link = cited(open_page("pages/home.py", checkpoint="reverse", utm_source="elsewhere")).rsplit(" ", 1)[1]
    assert link.startswith("http://localhost:8501/?") and "checkpoint=reverse" in link and "utm" not in link


def test_weights_that_were_replaced_are_cited_by_what_they_are_now(monkeypatch, tmp_path):
    """By the file's time: the same sizes, other weights."""
    shutil.copytree(ROOT / "checkpoints" / "reverse", tmp_path / "mine", ignore=shutil.ignore_patterns("resume"))
    monkeypatch.setattr(results, "CHECKPOINTS", tmp_path)
    weights = tmp_path / "mine" / "model.safetensors"
    app = open_page("pages/inside.py")
    before = sha256(weights)
    assert before[:12] in cited(app)
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    os.utime(weights, ns=(1, 1))
    assert sha256(weights) != before
    assert sha256(weights)[:12] in cited(app)
