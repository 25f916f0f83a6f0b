"""A page through Streamlit's test runner: open it, and read its elements."""

import base64
import html
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlsplit

import numpy as np
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[2]
PAGES = ["pages/decoding.py", "pages/attention.py"]


def open_page(page: str = PAGES[0], **query: str) -> AppTest:
    """A page as one who follows a link sees it, with these parameters in the address."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
    for name, value in query.items():
        app.query_params[name] = value
    app.switch_page(page)
    app.run()
    assert not app.exception
    return app


def open_address(address: str, **more: str) -> AppTest:
    """A page by its address, "/research?research=contrast", with more parameters, which win over those in it."""
    parts = urlsplit(address)
    return open_page(f"pages/{parts.path.strip('/') or 'home'}.py", **{**dict(parse_qsl(parts.query)), **more})


def unfolded(app: AppTest, key: str) -> AppTest:
    """The page with the expander of this key open."""
    app.session_state[key] = True
    return app.run()


def components(app: AppTest) -> list:
    """The page's components in the browser, without those of every page."""
    of_every_page = ("copy_link_link", "presenter_presenter", "figure_downloads_downloads")
    return [element for element in app.get("bidi_component") if element.proto.component_name not in of_every_page]


def page_text(app: AppTest) -> str:
    elements = [*app.markdown, *app.info, *app.warning, *app.error, *app.caption, *app.title, *app.subheader]
    shown = "\n".join(element.value for element in elements).replace("\\", "")
    return "\n".join([shown, *findings(app)])


def findings(app: AppTest) -> list[str]:
    """Return the text of each box with a finding or with something to try."""
    boxes = [element.proto.body for element in app.get("html") if element.proto.body.startswith('<div class="finding')]
    return [html.unescape(re.sub(r"<[^>]+>", " ", body)) for body in boxes]


def headlines(app: AppTest) -> list[str]:
    """The headlines of what the page says that it found."""
    bodies = "".join(element.proto.body for element in app.get("html"))
    return [html.unescape(text) for text in re.findall(r'<p class="headline">(.*?)</p>', bodies)]


def check_headline(headline: str) -> None:
    """Hold a headline to twelve words, and to at least one."""
    assert 1 <= len(headline.split()) <= 12, headline


def shows_only_text(app: AppTest) -> bool:
    """Return whether no typed tag and no typed link is one on the page."""
    written = [
        element.value.replace("\\<", "").replace("\\]\\(", "")
        for element in (*app.markdown, *app.info, *app.caption, *app.warning)
    ]
    bodies = [element.proto.body for element in app.get("html")]
    return not any(mark in text for text in (*written, *bodies) for mark in ("<script", "<b>")) and not any(
        "](http" in text for text in written
    )


def specs(app: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def tables(app: AppTest) -> str:
    return "".join(element.proto.body for element in app.get("html") if 'class="places"' in element.proto.body)


def numbers(sent) -> np.ndarray:
    """An array of a figure, however it travelled."""

    if isinstance(sent, dict):
        array = np.frombuffer(base64.b64decode(sent["bdata"]), sent["dtype"])
        return array.reshape([int(side) for side in sent["shape"].split(",")]) if "shape" in sent else array
    return np.array(sent, dtype=float)


VIEWS = {
    "/": "Headlight",
    "/lessons": "Lessons",
    "/lessons?lessons=quiz": "Lessons",
    f"/lessons?lessons={quote('for the teacher')}": "Lessons",
    "/?map=1": "Headlight",
    "/decoding": "Decoding",
    "/decoding?decoding=beam&beam=3&prefix=258": "Decoding",
    "/decoding?decoding=beam&decoding_view=beam+search": "Decoding",
    "/decoding?decoding_view=candidates": "Decoding",
    "/attention": "Attention",
    "/attention?view=lines&head=decoder.1.1-decoder.2.3": "Attention",
    "/attention?attention=one+head&head=encoder.1.1": "Attention",
    "/research": "Research",
    "/research?research=atlas": "Research",
    f"/research?research={quote('why this cell')}": "Research",
    "/research?research=attribution": "Research",
    "/research?research=contributions": "Research",
    "/research?research=contrast": "Research",
    "/research?research=patching": "Research",
    "/research?research=patching&minimal_pair=name&patched=cross%20heads": "Research",
    f"/research?research=patching&minimal_pair={quote('your own')}": "Research",
    "/research?research=logit+lens": "Research",
    "/research?research=embeddings": "Research",
    "/research?research=feed-forward": "Research",
    "/research?research=calibration": "Research",
    "/positions": "Positions",
    "/positions?positions=waves": "Positions",
    "/positions?positions=relative+bias": "Positions",
    "/training": "Training",
    "/training?training=replay&checkpoint=en-fr": "Training",
    "/training?training=compare+runs": "Training",
    "/inside?head=decoder.1.1": "Inside",
    f"/inside?inside={quote('small example')}&toy_flipped=000111000000000000": "Inside",
    "/inside": "Inside",
    "/inside?inside=masks": "Inside",
    "/inside?inside=masks&head=cross.1.1": "Inside",
    f"/inside?inside={quote('why √d_k')}": "Inside",
    "/what_if": "What if",
    "/what_if?off=encoder.2.5-cross.1.1&ablated_by=uniform": "What if",
    f"/what_if?what_if={quote('rewrite attention')}": "What if",
    f"/what_if?what_if={quote('your translation')}": "What if",
}


PAGE = "pages/training.py"
HOSTILE = ["x", "a,b,c", "x" * 50_000, "../../etc", "<script>alert(1)</script>", "\x00", ",,,"]


def button(app: AppTest, label: str):
    return next((button for button in app.button if button.label == label), None)


def run_until(app: AppTest, condition: Callable[[], bool], seconds: float = 300) -> None:
    """Let the page look again, as its fragment does, until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, page_text(app)
        time.sleep(0.3)
        app.run()
        assert not app.exception


def payload(app: AppTest, index: int = 0) -> dict:
    """Return the JSON that a component of the page receives."""
    return json.loads(components(app)[index].proto.json)


def fact_array(fact: dict) -> np.ndarray:
    """Return an array that headlight/app/facts.py has encoded."""
    dtype = np.dtype(fact["dtype"]).newbyteorder("<")
    return np.frombuffer(base64.b64decode(fact["base64"]), dtype).reshape(fact["shape"])


def unpack_facts(blob: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """Return the facts and arrays of `pack_facts`, read in the way of lib/facts.js: uint16 begins at an even byte."""
    length = int.from_bytes(blob[:4], "little")
    assert length % 2 == 0
    facts, numbers, arrays = json.loads(blob[4 : 4 + length]), np.frombuffer(blob[4 + length :], "<u2"), {}
    for name, shape in facts["arrays"].items():
        arrays[name], numbers = numbers[: np.prod(shape)].reshape(shape), numbers[np.prod(shape) :]
    return facts, arrays
