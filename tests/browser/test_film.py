"""The command `film`, and the film where a browser records nothing."""

import base64
import os
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from support.traces import loaded

from headlight.components.standalone import Words, standalone
from headlight.views.inside.whole_pass_content import pass_facts
from transformer.interpret.activations import RESIDUAL_STREAM
from transformer.interpret.residual import residual_stream_of

SENTENCE = "A dog."
# Width, height and seconds of a film.
MEASURED = """async (film) => {
    const video = Object.assign(document.createElement("video"), { src: `data:video/webm;base64,${film}` });
    await new Promise((done, failed) => Object.assign(video, { onloadedmetadata: done, onerror: failed }));
    video.currentTime = 1e6;
    await new Promise((done) => (video.onseeked = done));
    return [video.videoWidth, video.videoHeight, video.currentTime];
}"""


def test_the_command_records_twenty_seconds(browser, tmp_path):
    out = tmp_path / "film.webm"
    command = [sys.executable, "-m", "headlight", "film", SENTENCE, "--out", str(out), "--ui", "de"]
    ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HEADLIGHT_DEVICE": "cpu"})
    assert ended.returncode == 0 and ended.stdout.strip() == loaded("en-de").trace(SENTENCE).target_text
    assert "Der Film wird gemacht:" in ended.stderr
    film = out.read_bytes()
    assert film.startswith(b"\x1a\x45\xdf\xa3") and len(film) > 50_000
    page = browser.new_page()
    wide, high, seconds = page.evaluate(MEASURED, base64.b64encode(film).decode())
    page.close()
    assert (wide, high) == (1280, 720) and 18 < seconds < 30


def test_a_browser_that_records_nothing_saves_frames_as_svg(browser):
    translator = loaded("en-de")
    trace, seen = translator.record(SENTENCE, keep=RESIDUAL_STREAM)
    facts = pass_facts(trace, residual_stream_of(translator.model, seen), translator.model, "1")
    page = browser.new_page()
    page.set_content(standalone("whole_pass/pass", facts, Words("")))
    page.evaluate("delete window.MediaRecorder")
    with page.expect_download() as saving:
        page.locator(".film").click()
    frames = [each for each in ElementTree.parse(saving.value.path()).getroot() if each.tag.endswith("}g")]
    page.close()
    turns = [each[0].attrib for each in frames]
    begins, ends = ([float(each.get(name, "inf").rstrip("s")) for each in turns] for name in ("begin", "dur"))
    assert begins[0] == 0 and begins[-1] < 20 and ends[-1] == float("inf")
    assert [one + lasts for one, lasts in zip(begins, ends[:-1], strict=False)] == pytest.approx(begins[1:])
    words = trace.target_text.rstrip(".").split()
    shown = ["".join(frame.itertext()) for frame in frames]
    assert all(word in shown[-1] and word not in shown[0] for word in words)
