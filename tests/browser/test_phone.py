"""A phone, upright and on its side: nothing is wider than the window, figures keep their height, fingers have room."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from support.browser import expect_accessible, follow, wait_until_idle
from support.chromium import new_visitor
from support.pages import VIEWS

TITLES = {view.partition("?")[0]: title for view, title in VIEWS.items()}
UPRIGHT, LYING = {"width": 390, "height": 844}, {"width": 844, "height": 390}
AGENT = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari"
TWENTY_WORDS = "The old man next door who lives alone says that he has never seen such a beautiful garden before today."
MAIN, CHART = "[data-testid=stMain]", "[data-testid=stFullScreenFrame]:has(> [data-testid=stPlotlyChart])"
FINGER = 40  # pixels
LEAST_HIGH = 250  # pixels, of a figure with a title, labels, a dozen rows at most and a colour bar
# What is touched on a page, but for the tokens and cells of a figure.
TOUCHED = {
    "/?map=1": (".st-key-head_buttons [role=radiogroup] button", ".finding summary", ".player summary", ".download"),
    "/decoding": (".candidates tbody button", ".controls button", ".st-key-head_buttons [role=radiogroup] button"),
    "/inside?inside=masks": (".figure_download", "[role=radiogroup] button"),
}
# An element's box, and where its letters stand, which the box may cut: both of the same moment.
_BOX_AND_TEXT = """entry => {
    const range = document.createRange();
    range.selectNodeContents([entry, ...entry.querySelectorAll("*")].find(each => !each.firstElementChild));
    return [entry, range].map(each => each.getBoundingClientRect().toJSON());
}"""
_WIDTHS = "place => [place.scrollWidth, place.clientWidth]"


@pytest.fixture(scope="module")
def phone(browser, address):
    """A visitor with a phone in the dark, who goes from page to page."""
    screen = {"viewport": UPRIGHT, "is_mobile": True, "has_touch": True}
    context = new_visitor(browser, **screen, user_agent=AGENT, color_scheme="dark", reduced_motion="reduce")
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{address}/decoding")
    expect(page.locator(".place")).to_be_visible()
    yield page
    context.close()
    assert not errors


def visit(page: Page, path: str, screen: dict) -> None:
    page.set_viewport_size(screen)
    follow(page, path)
    expect(page.get_by_role("heading", name=TITLES[path.partition("?")[0]], exact=True)).to_be_visible()
    wait_until_idle(page)


@pytest.mark.parametrize("path", [*VIEWS, *(f"{page}?text={quote(TWENTY_WORDS)}" for page in ("/", "/decoding"))])
def test_no_view_is_wider_than_a_phone(phone, path):
    visit(phone, path, UPRIGHT)
    wide, room = phone.locator(MAIN).evaluate(_WIDTHS)
    assert wide <= room == UPRIGHT["width"]


@pytest.mark.parametrize("path", ["/?map=1", "/inside?inside=masks"])
def test_on_its_side_figures_keep_their_height_and_nothing_lies_on_the_page(phone, path):
    visit(phone, path, LYING)
    expect(phone.locator(CHART).first).to_be_visible()
    for box in (chart.bounding_box() for chart in phone.locator(CHART).all()):
        assert box["height"] >= LEAST_HIGH
    header, bar = (phone.locator(place).bounding_box() for place in ("[data-testid=stHeader]", ".st-key-bar"))
    assert header["y"] + header["height"] <= bar["y"]
    expect(phone.locator("[data-testid=stHeader]")).to_have_css("background-color", "rgb(22, 22, 20)")
    expect(phone.get_by_role("button", name="Present")).to_be_hidden()  # a phone has no presentation mode


def test_the_words_are_explained_in_a_list_that_a_touch_beside_it_closes(phone):
    visit(phone, "/?map=1", UPRIGHT)
    words, close = phone.get_by_role("dialog", name="Words and keys"), phone.get_by_role("button", name="Close")
    for shut in (close.tap, lambda: phone.touchscreen.tap(5, 5)):
        phone.get_by_role("button", name="Words and keys").tap()
        expect(words).to_be_visible()
        expect(words.get_by_text("full screen")).to_be_hidden()
        words.evaluate("each => each.scrollTo(0, each.scrollHeight)")
        expect(close).to_be_in_viewport(ratio=1)
        expect_accessible(phone)
        shut()
        expect(words).to_be_hidden()


@pytest.mark.parametrize("path", TOUCHED)
def test_what_is_touched_is_as_high_as_a_finger_needs(phone, path):
    visit(phone, path, UPRIGHT)
    for selector in TOUCHED[path]:
        expect(phone.locator(selector).first).to_be_visible()
        heights = [box["height"] for each in phone.locator(selector).all() if (box := each.bounding_box())]
        assert min(heights) >= FINGER, selector


@pytest.mark.parametrize(
    ("path", "opener", "entry"),
    [
        ("/?map=1", ".st-key-example button", "[role=menuitem]"),
    ],
)
def test_entries_of_a_list_are_whole_within_the_window(phone, path, opener, entry):
    visit(phone, path, UPRIGHT)
    phone.locator(opener).first.tap()
    expect(phone.locator(entry).first).to_be_in_viewport(ratio=1)  # where the list is to stand is found once it is open
    wait_until_idle(phone)
    for each in phone.locator(entry).all():
        box, text = each.evaluate(_BOX_AND_TEXT)
        assert box["left"] >= 0 and box["right"] <= UPRIGHT["width"]
        assert text["top"] >= box["top"] and text["bottom"] <= box["bottom"]
    phone.keyboard.press("Escape")
    expect(phone.locator(entry).first).to_be_hidden()


def test_the_whole_bar_is_in_sight(phone):
    visit(phone, "/", UPRIGHT)
    for control in (phone.get_by_role("button", name="Share"), phone.get_by_role("button", name="⋯")):
        expect(control).to_be_in_viewport(ratio=1)


def test_a_token_that_is_touched_moves_nothing_below_it(phone):
    visit(phone, f"/?map=1&text={quote(TWENTY_WORDS)}", UPRIGHT)
    below = phone.locator(".token_lines .under")
    before = below.bounding_box()
    for token in phone.locator(".token_lines .row button").all():
        token.evaluate("each => each.focus({ preventScroll: true })")
        assert below.bounding_box()["y"] == before["y"]


LISTED = "[data-testid=stSidebar][data-collapsed=false]"


@pytest.mark.parametrize("name", ["Home", "Lessons"])
def test_a_tap_on_a_page_in_the_row_below_leaves_the_list_of_pages_folded(phone, name):
    visit(phone, "/?map=1", UPRIGHT)
    phone.evaluate(f"""() => {{
        window.opened = 0;
        const count = () => {{ window.opened += document.querySelector("{LISTED}") ? 1 : 0; }};
        const frame = () => {{ count(); requestAnimationFrame(frame); }};
        frame();
    }}""")
    phone.locator(".presenter").get_by_role("button", name=name, exact=True).tap()
    expect(phone.get_by_role("heading", name={"Home": "Headlight"}.get(name, name), exact=True)).to_be_visible()
    wait_until_idle(phone)
    expect(phone.locator(LISTED)).to_have_count(0)
    assert phone.evaluate("window.opened") == 0, "not for a moment"


# Of views with many controls the figure, and where it begins at the latest: a fifth of the page below is left for it.
FIGURE = {
    "/inside?at_step=products": ".products .maps",
    "/research?research=rollout": CHART,
    "/research?research=attribution": CHART,
    "/positions?positions=waves": CHART,
    "/research?research=logit+lens": ".places table",
    "/decoding?decoding_view=candidates": CHART,
    "/inside?inside=masks": CHART,
    "/research?checkpoint=reverse": ".head_finder .plot",
}
SENTENCE, BEGINS = "I can't swim, and I don't want to learn it.", 660


@pytest.mark.parametrize("path", FIGURE)
def test_figures_come_before_what_is_said_of_them(phone, path):
    visit(phone, f"{path}{'&' if '?' in path else '?'}text={quote(SENTENCE)}", UPRIGHT)
    figure = phone.locator(FIGURE[path]).first
    expect(figure).to_be_visible()
    wait_until_idle(phone)
    assert figure.bounding_box()["y"] <= BEGINS


def test_a_finger_on_a_sliders_track_changes_nothing_and_its_thumb_is_moved(phone):
    visit(phone, "/decoding?decoding_view=candidates", UPRIGHT)
    slider = phone.locator(".st-key-draw_topk [role=group]")
    value = phone.locator(".st-key-draw_topk [data-testid=stSliderThumbValue]")
    expect(value).to_have_text("0")
    box = slider.bounding_box()
    phone.touchscreen.tap(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2)
    wait_until_idle(phone)
    expect(value).to_have_text("0")
    thumb = phone.locator(".st-key-draw_topk input[type=range]")
    thumb.focus()
    thumb.press("ArrowRight")
    expect(value).to_have_text("1")
    phone.wait_for_url("**draw_topk=1**")  # Streamlit tells the app a moment after it has moved the thumb
    wait_until_idle(phone)


def test_what_a_switched_head_changes_stays_in_sight_above_the_switches(phone):
    visit(phone, "/what_if", UPRIGHT)
    changed = phone.locator(".translations .line")
    expect(changed).to_be_in_viewport(ratio=1)
    phone.locator(".switches td button").last.scroll_into_view_if_needed()
    wait_until_idle(phone)
    expect(phone.locator(".translations table")).to_be_in_viewport()
    expect(changed).to_be_in_viewport(ratio=1)


def test_what_is_to_be_done_is_said_for_a_finger(phone):
    visit(phone, "/", UPRIGHT)
    expect(phone.locator(".token_lines .headline")).to_contain_text("Tap a word")
    expect(phone.locator(".token_lines .source button[title*='tap to hide it']").first).to_be_visible()
