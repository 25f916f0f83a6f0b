"""Every component in a bare page, with the data that the app sends it: keyboard, accessibility, phone, dark, motion."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page
from support.browser import expect_accessible, mount, wait_for_frames
from support.pages import open_address

from headlight.components.bundle import FOLDER

EVIL = "<img src=x onerror=window.hurt=1>"
TEXT = "I think that he has never read this book."
DESK = {"code": "ABCDE", "asks": True, "notice": "", "turn": 0, "page": "home"}
# Each component's entry with the address of a page that shows it, or with data.
COMPONENTS: dict[str, str | dict] = {
    "attention_explorer/explorer": "/attention?head=cross.1.1",
    "attention_steps/steps": "/inside?head=encoder.1.1&at_step=softmax",
    "beam_tree/tree": "/decoding?decoding=beam&decoding_view=beam+search",
    "class_desk/desk": DESK,
    "class_desk/kept": "/lessons?lessons=a+class",
    "copy_link/link": "/",
    "decoding_player/player": "/decoding?step=3",
    "figure_downloads/downloads": "/",
    "head_card/card": "/attention?attention=one+head&checkpoint=reverse&head=encoder.1.1&text=abc+xyz",
    "head_finder/finder": "/research?research=atlas&checkpoint=reverse&head=cross.1.1&text=abc+xyz",
    "head_switches/switches": "/what_if?off=none",
    "lesson_panel/panel": "/?lesson=attention.1",
    "presenter/presenter": "/",
    "quiz/quiz": "/lessons?lessons=quiz",
    "replay_loop/loop": "/",
    "replay_player/player": "/training?training=replay&checkpoint=en-fr",
    "token_lines/lines": "/",
    "translation_table/table": "/what_if",
    "weight_bars/bars": "/what_if?what_if=rewrite+attention&head=cross.3.4",
    "whole_pass/pass": "/inside?moment=4",
}
# Elements that select something: a click, and Enter on the focused element, report the same.
SELECTING = {
    "attention_explorer/explorer": ".query_tokens button >> nth=2",
    "attention_steps/steps": ".queries button[aria-pressed=false] >> nth=2",
    "beam_tree/tree": ".stage button >> nth=3",
    "decoding_player/player": "td.piece button >> nth=1",
    "head_card/card": ".nearest button >> nth=0",
    "head_finder/finder": ".plot [data-name='encoder.2.1']",
    "head_switches/switches": "td button >> nth=5",
    "lesson_panel/panel": ".options button >> nth=0",
    "presenter/presenter": "button[aria-label=Present]",
    "replay_player/player": "button.forward",
    "token_lines/lines": ".row.source button >> nth=1",
    "weight_bars/bars": "button >> nth=1",
    "whole_pass/pass": ".parts button[aria-label^=Memory]",
}

SHOWING_TOKENS = (
    *("attention_steps/steps", "beam_tree/tree", "decoding_player/player", "replay_player/player"),
    *("token_lines/lines", "translation_table/table", "weight_bars/bars"),
)


@pytest.fixture(scope="session")
def component_data() -> Callable[[str], dict | bytes]:
    """A function from a component's entry to the data that its page sends."""
    sent: dict[str, dict[str, dict | bytes]] = {}

    def data_of(entry: str) -> dict | bytes:
        address = COMPONENTS[entry]
        if isinstance(address, dict):
            return address
        if address not in sent:
            text = {} if "text=" in address else {"text": TEXT}
            elements = [element.proto for element in open_address(address, **text).get("bidi_component")]
            sent[address] = {each.component_name: each.bytes or json.loads(each.json) for each in elements}
        return sent[address][entry.replace("/", "_")]

    return data_of


@pytest.fixture
def bare_page(visitor) -> Page:
    """A page whose console must stay without errors."""
    page, errors = visitor("bare"), []

    def note(message) -> None:
        if message.type == "error":
            errors.append(message.text)

    page.on("console", note)
    yield page
    page.remove_listener("console", note)
    assert not errors


def named_tokens(data: object, name: str = "") -> list[str]:
    """Return all texts in data whose names end with "tokens"."""
    if isinstance(data, dict):
        return [token for key, value in data.items() for token in named_tokens(value, key)]
    if isinstance(data, list):
        return [token for value in data for token in named_tokens(value, name)]
    return [data] if isinstance(data, str) and name.endswith("tokens") else []


def hostile(data: object, tokens: set[str]) -> object:
    """Return data with markup in place of all tokens."""
    if isinstance(data, dict):
        return {name: hostile(value, tokens) for name, value in data.items()}
    if isinstance(data, list):
        return [hostile(value, tokens) for value in data]
    return EVIL if isinstance(data, str) and data in tokens else data


def test_every_component_is_tested():
    entries = {path.with_suffix("") for path in FOLDER.glob("*/*.html") if path.with_suffix(".js").exists()}
    names = {f"{entry.parent.name}/{entry.name}" for entry in entries}
    assert names - {"attention_explorer/address", "live_page/page", "standalone_page/page"} == set(COMPONENTS)


@pytest.mark.parametrize("entry", COMPONENTS)
def test_a_component_is_accessible_on_every_screen(bare_page, component_data, entry):
    page, data = bare_page, component_data(entry)
    for scheme, width, motion in (("light", 1366, "no-preference"), ("dark", 390, "reduce")):
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme, reduced_motion=motion)
        mount(page, entry, data)
        wait_for_frames(page)
        expect_accessible(page)
    moving = "document.getAnimations().filter((each) => each.effect.getComputedTiming().duration > 0).length"
    assert page.evaluate(moving) == 0


@pytest.mark.parametrize("entry", SELECTING)
def test_enter_reports_the_same_as_a_click(bare_page, component_data, entry):
    page, reports = bare_page, []
    for act in (Locator.click, lambda element: element.press("Enter")):
        mount(page, entry, component_data(entry))
        wait_for_frames(page)
        act(page.locator(SELECTING[entry]))
        page.wait_for_function("window.reports.length > 0")
        reports.append(page.evaluate("window.reports"))
    assert reports[0] == reports[1]


@pytest.mark.parametrize("entry", SHOWING_TOKENS)
def test_tokens_are_text(bare_page, component_data, shipped, entry):
    """No tokenizer of the shipped models has such a token; that of an imported checkpoint may."""
    page, data, trace = bare_page, component_data(entry), shipped.trace(TEXT)
    tokens = {*trace.source_tokens, *trace.target_tokens, *sum(trace.candidate_tokens, ()), *named_tokens(data)}
    mount(page, entry, hostile(data, tokens))
    wait_for_frames(page)
    assert "img src=x" in page.locator("main").inner_html()
    assert page.locator("main img").count() == 0 and page.evaluate("window.hurt") is None
