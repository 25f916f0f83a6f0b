"""The live model in one file, as the command line writes it, and a site of them."""

import base64
import gzip
import json
import re

import pytest
from support.pages import open_page
from support.traces import CHECKPOINTS

from headlight.__main__ import main
from headlight.app import results
from headlight.components.live import COMPONENTS, Entry, index_page
from headlight.lessons import first_lesson
from headlight.views.live.content import live_file, live_size, live_words
from headlight.views.live.site import write_site
from transformer.checkpoint import Checkpoint, load_checkpoint
from transformer.errors import CheckpointError

EVIL = "</script><script>alert(1)</script>"


@pytest.fixture
def reverse() -> Checkpoint:
    return load_checkpoint(CHECKPOINTS / "reverse")


def test_the_command_writes_a_page_of_the_expected_size(tmp_path, capsys, reverse):
    path = tmp_path / "live.html"
    assert main(["page", "--live", "--checkpoint", "reverse", "--text", EVIL, "--out", str(path)]) == 0
    page, size = path.read_text(encoding="utf-8"), path.stat().st_size
    assert capsys.readouterr().out == f"{size / 1e6:.1f} MB\n"
    assert live_size(reverse) == pytest.approx(size, abs=150_000)
    packed = re.search(r'id="live_words">(.*?)</script>', page, re.DOTALL)[1]
    words = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert words["text"] == EVIL and EVIL not in page
    assert re.search(r'<body class="([^"]*)"', page)[1] == "without_lessons" and words["replay"]
    assert words["roles"]["sentences"] > 0 and set(words["styles"]) == {*COMPONENTS.values(), "shared"}


def test_the_page_decodes_with_the_numbers_of_the_bar(reverse):
    words, numbers = live_words(reverse), {}
    for decoding in ("beam", "sampling"):
        app = open_page("pages/decoding.py", checkpoint="reverse", decoding=decoding)
        keys = words["decoding"].keys()
        widgets = [each for each in (*app.slider, *app.number_input) if each.key in keys]
        numbers |= {each.key: (each.min, each.max, each.value, each.step) for each in widgets}
    assert {name: tuple(number.values()) for name, number in words["decoding"].items()} == numbers


def test_the_file_of_the_app_has_lesson_1_where_the_model_reads_english(shipped):
    (lesson,) = first_lesson(results.checkpoint("en-de"))["lessons"]
    assert lesson["name"] == "attention" and len(json.dumps(lesson)) < 80_000
    assert first_lesson(results.checkpoint("reverse")) is None


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["--live", "A sentence."], "Give a sentence, --live, or --attention."),
        (["A sentence.", "--lesson"], "--lesson goes with --live."),
        (["--live", "--lesson", "nonsense"], "There is no lesson “nonsense”"),
        (["--live", "--beam", "4"], "translates by itself, greedily"),
        (["--live"], "Say by --out"),
        (["--site", "folder", "A sentence."], "--site makes pages of all shipped models"),
    ],
)
def test_options_that_exclude_each_other_are_refused(arguments, expected, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = [] if expected.startswith(("Say", "--site")) else ["--out", "x.html"]
    assert main(["page", *arguments, *out]) == 1
    assert expected in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_page_names_the_origin_of_the_weights(reverse):
    reverse.training["data"] = {"licence": EVIL, "attribution": f"One & all; {EVIL}"}
    page = live_file(reverse, EVIL)
    assert EVIL not in page
    for expected in ("the weights: &lt;/script&gt;", "<li>One &amp; all</li>", "checkpoint &lt;/script&gt;"):
        assert expected in page


def test_a_model_that_a_browser_cannot_run_is_refused(monkeypatch, reverse):
    monkeypatch.setattr("transformer.exchange.int8.MOST_WEIGHTS", 1000)
    with pytest.raises(CheckpointError, match="cannot run in a browser"):
        live_file(reverse, "reverse")


def test_a_site_has_an_index_and_compressed_pages_with_the_same_bytes_each_time(tmp_path):
    folder = tmp_path / "site" / "new"
    pages = write_site(folder, [CHECKPOINTS / "reverse"])
    assert [page.name for page in pages] == ["index.html", "reverse.html"]
    for page in pages:
        assert gzip.decompress(page.with_name(f"{page.name}.gz").read_bytes()) == page.read_bytes()
    index = pages[0].read_text(encoding="utf-8")
    assert '<a href="reverse.html">' in index and "million weights" in index
    before = pages[1].with_name("reverse.html.gz").read_bytes()
    write_site(folder, [CHECKPOINTS / "reverse"])
    assert pages[1].with_name("reverse.html.gz").read_bytes() == before
    with pytest.raises(CheckpointError, match="no checkpoint"):
        write_site(folder, [])


def test_the_index_of_a_site_leads_to_each_lesson():
    entry = Entry("en-de.html", "English to German", 7_000_000, 9_000_000, {"heads": "What are <heads> for?"})
    page = index_page([entry, Entry("reverse.html", "reverse", 1, 1)])
    link = '<a href="en-de.html#home?lesson=heads">What are &lt;heads&gt; for?</a>'
    assert page.count("<details>") == 1 and link in page
