"""Every view: its figure is in sight at once, no text in it is too small, and no one is shut out, on any screen."""

from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from support.browser import expect_accessible, follow, wait_for_frames, wait_for_keys, wait_until_idle

from headlight.app.navigation import GROUPS

WINDOWS = ((1366, 768), (1280, 720))  # a projector, a small laptop
ZOOMED, PHONE = (1093, 614), (390, 844)  # the projector's at 125 %
SCREENS = (("light", WINDOWS[0]), ("dark", PHONE), ("dark", WINDOWS[0]), ("light", PHONE))  # looked at by axe in turns
SMALLEST = 12  # pixels
BAR, CHART = ".st-key-bar", "[data-testid=stPlotlyChart]"
EXPLORER = (".explorer .bar", ".overview canvas", ".readout:not(:empty)")
TEXT, LONGER = "I love my teacher.", "I can't swim, and I don't want to learn it."
LONGEST = "The old man next door says that he has never seen such a beautiful garden."
# Of every view the figure that it is about, and what one chooses it by. The batches of Training are not among them: a
# batch has as many rows as it has sentences.
VIEWS = {
    "/": (BAR, ".token_lines .stage"),
    "/?map=1": (BAR, ".token_lines .stage", CHART, ".st-key-head_buttons"),
    "/decoding": (".controls", ".rows", ".candidates .list", ".st-key-head_buttons"),
    "/decoding?decoding_view=candidates": (CHART, ".st-key-draw_temperature"),
    "/decoding?decoding=beam&decoding_view=beam%20search": (
        ".places table",
        ".beam_tree .scroll",
        ".beam_tree .readout",
    ),
    "/attention": (*EXPLORER, ".map canvas"),
    "/attention?view=lines": (*EXPLORER, ".lines canvas"),
    f"/attention?text={quote(LONGEST)}": (*EXPLORER, ".map canvas"),
    "/attention?attention=one+head": (
        ".head_card .headline",
        ".own .example",
        ".examples .example",
        ".st-key-head_buttons",
    ),
    "/research?head=encoder.1.1": (".head_finder .plot", ".head_finder .readout"),
    "/research?research=rollout": (CHART, ".st-key-up_to"),
    "/research?research=attribution": (CHART, ".st-key-step_slider"),
    "/research?research=contributions": (CHART, ".chips", ".st-key-step_slider"),
    "/research?research=contrast": (CHART, ".st-key-step_slider", ".st-key-against_list"),
    "/research?research=patching": (CHART, ".places table", ".st-key-minimal_pair", ".st-key-patched_row_slider"),
    "/research?research=logit+lens": (".places table",),
    "/research?research=trajectory": (CHART, ".st-key-token_slider"),
    "/research?research=embeddings": (CHART, ".st-key-token_slider"),
    "/research?research=feed-forward": (CHART, ".st-key-token_slider"),
    "/research?research=calibration": (CHART,),
    "/inside": (".rail", ".chooser", ".products .maps", ".products .worked", ".st-key-head_buttons"),
    "/inside?at_step=values": (".rail", ".chooser", ".values .own", ".st-key-head_buttons"),
    "/inside?at_step=output": (".rail", ".chooser", ".output .maps", ".st-key-head_buttons"),
    f"/inside?inside={quote('small example')}": (".st-key-toy_editor", ".chooser", ".rail", "li.softmax .maps"),
    f"/inside?inside={quote('why √d_k')}": (CHART, ".st-key-head_buttons"),
    "/inside?inside=architecture": (".diagram svg", ".st-key-parameters_fold"),
    "/positions": (".finding", ".st-key-reordered_line"),
    "/positions?positions=waves": (".st-key-waves", ".st-key-rotation", ".st-key-offset"),
    "/inside?inside=masks": (".st-key-leaking", ".st-key-next_tokens", ".st-key-head_buttons"),
    "/inside?inside=masks&head=cross.1.1": (".st-key-leaking", ".st-key-next_tokens", ".st-key-head_buttons"),
    f"/training?training={quote('replay')}&checkpoint=en-fr": (".controls", ".strip", ".all", "table.map"),
    "/training?training=recipe": (CHART, ".st-key-epsilon"),
    "/what_if": (".grids", ".legend", ".translations table", ".st-key-ablated_by"),
    f"/what_if?what_if={quote('rewrite attention')}": (
        ".rows",
        ".translations table",
        ".st-key-rewrite",
        ".st-key-rewrite_row",
    ),
    f"/what_if?what_if={quote('your translation')}": (".translations table", ".st-key-own_target_line"),
    # Other states of these views, and views that may be higher than a screen: nothing has to be in sight.
    "/decoding?decoding=beam&beam=3&prefix=258": (),
    "/attention?view=lines&head=decoder.1.1-decoder.2.3": (),
    f"/training?training={quote('train live')}": (),
    f"/training?training={quote('compare runs')}": (),
    "/inside?head=decoder.1.1": (),
    f"/inside?inside={quote('small example')}&toy_flipped=000111000000000000": (),
    "/what_if?off=encoder.2.5-cross.1.1&ablated_by=uniform": (),
    "/research?research=patching&minimal_pair=name&patched=cross%20heads": (),
    f"/research?research=patching&minimal_pair={quote('your own')}": (),
    "/attention?attention=why+this+cell&head=cross.3.1": (
        CHART,
        ".finding",
        ".st-key-score_removal",
        ".st-key-head_buttons",
    ),
}
TITLES = {f"/{name}": title for pages in GROUPS.values() for name, title in pages.items()}
TITLES |= {"/": "Headlight"}
# Without a figure until something is started, and what starts it.
STARTED_BY = {
    f"/training?training={quote('train live')}": "Start training",
    f"/training?training={quote('compare runs')}": "Start both",
}
FIGURES = (
    "[data-testid=stPlotlyChart] .main-svg, .place, li.step canvas, .diagram svg, .overview canvas, "
    ".token_lines .row.output, .switches td button, .weight_bars .bar, .beam_tree button"
)
# Views whose figure grows with the sentence: of a short one it is in sight.
HIGHER_WITH_A_LONGER_SENTENCE = {
    "/research?research=attribution",
    "/inside",
    "/inside?at_step=values",
    "/inside?at_step=output",
    "/research?research=logit+lens",
    "/inside?inside=masks",
    "/inside?inside=masks&head=cross.1.1",
    "/what_if",
    f"/what_if?what_if={quote('rewrite attention')}",
    "/research?research=contributions",
    "/research?research=contrast",
}
# What of a view has to be in sight while it is presented, where that is not all but its controls.
PRESENTED = {
    "/attention?view=lines": (".lines canvas",),
    f"/inside?inside={quote('small example')}": (".st-key-toy_editor", "li.softmax .maps"),
    "/research?research=patching": (CHART,),
    "/research?research=contributions": (CHART,),
}
# Of a page's views with the same kinds of figure, the first has its figure in sight while it is presented.
LOOKED_AT_PRESENTED = {
    (path.partition("?")[0], *(each for each in VIEWS[path] if not each.startswith(".st-key-"))): path
    for path in reversed(VIEWS)
    if VIEWS[path]
}.values()
CONTROLS = {BAR, ".controls", ".rail", ".chooser", ".explorer .bar", ".legend", ".beam_tree .readout"}

_SMALLEST_TEXT = """places => {
    const sizes = [...window.written];
    for (const place of places) {
        const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
            const { parentElement, textContent } = texts.currentNode;
            if (textContent.trim() && parentElement.checkVisibility({ visibilityProperty: true })) {
                sizes.push(parseFloat(getComputedStyle(parentElement).fontSize));
            }
        }
    }
    return Math.min(100, ...sizes);
}"""
# What a canvas writes cannot be asked for afterwards: its pens are listened to, if it is still on the page.
_LISTEN = """() => {
    window.written = [];
    const own = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
        const size = Number(/([\\d.]+)px/.exec(this.font)[1]);
        if (String(text).trim() && this.canvas.isConnected) window.written.push(size);
        return own.call(this, text, ...place);
    };
}"""


# Of a heatmap the page's colour, and of every cell its digits, their colour and what is painted under them.
_CELLS = """async chart => {
    const image = chart.querySelector(".heatmaplayer image"), place = image.getBoundingClientRect();
    const copy = new Image();
    copy.src = image.href.baseVal;
    await copy.decode();
    const canvas = new OffscreenCanvas(copy.width, copy.height), pen = canvas.getContext("2d");
    pen.drawImage(copy, 0, 0);
    const colours = text => text.match(/[\\d.]+/g).map(Number);
    const cells = [...chart.querySelectorAll(".scatterlayer text")].map(text => {
        const { left, right, top, bottom } = text.getBoundingClientRect();
        const x = (left + right) / 2 - place.left, y = (top + bottom) / 2 - place.top;
        const at = [x * copy.width / place.width, y * copy.height / place.height].map(Math.round);
        const ink = colours(getComputedStyle(text).fill);
        return { weight: Number(text.textContent), ink, paint: [...pen.getImageData(...at, 1, 1).data] };
    });
    return { page: colours(getComputedStyle(document.querySelector("[data-testid=stApp]")).backgroundColor), cells };
}"""
# What of a page can only be reached by scrolling sideways.
_BEYOND = """() => [
    ...[document.documentElement, document.querySelector("[data-testid=stMain]")]
        .filter(place => place.scrollWidth > place.clientWidth).map(place => place.tagName),
    ...[...document.querySelectorAll(".katex-display .katex-html")]
        .filter(place => place.getBoundingClientRect().right > innerWidth).map(place => place.textContent),
]"""


@pytest.fixture(scope="module")
def visitors(wanderers):
    """One visitor in the light and one in the dark, who go from page to page and listen to what canvases write."""
    width, height = WINDOWS[0]
    screens = {scheme: {"width": width, "height": height, "scheme": scheme} for scheme in ("light", "dark")}
    for pages in wanderers("projector", screens):
        for page in pages.values():
            page.add_init_script(f"({_LISTEN})()")  # a page that cannot be followed to is read anew
            page.evaluate(_LISTEN)
        yield pages


def resize(page: Page, size: tuple[int, int]) -> None:
    """Give the page a window of another size, in which all texts of canvases are written anew."""
    page.evaluate("window.written = []")
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    wait_for_frames(page)


def out_of_sight(page: Page, selectors: tuple[str, ...]) -> list[str]:
    """What of these is not wholly within the window, with its place."""
    width, height = page.viewport_size["width"], page.viewport_size["height"]
    outside = []
    for selector in selectors:
        box = page.locator(selector).first.bounding_box()
        right, bottom = box["x"] + box["width"], box["y"] + box["height"]
        if box["x"] < 0 or box["y"] < 0 or right > width or bottom > height:
            outside.append(f"{selector} from {box['x']:.0f}, {box['y']:.0f} to {right:.0f}, {bottom:.0f}")
    return outside


def smallest_text(page: Page) -> float:
    """The size of the smallest letters in the page's figures, whoever writes them."""
    return page.locator(f"{CHART} svg.main-svg, .player").evaluate_all(_SMALLEST_TEXT)


def visit(page: Page, size: tuple[int, int], path: str, text: str) -> None:
    """Go there, and wait until the page stands: its title, what it is about, and no script running."""
    resize(page, size)
    asked = path if "text=" in path else f"{path}{'&' if '?' in path else '?'}text={quote(text)}"
    follow(page, f"{asked}&present=")  # the view before may have been left while it was presented
    expect(page.get_by_role("heading", name=TITLES[path.split("?")[0]], exact=True)).to_be_visible()
    if path in STARTED_BY:
        expect(page.get_by_role("button", name=STARTED_BY[path])).to_be_visible()
    else:
        for selector in VIEWS[path] or (FIGURES,):
            expect(page.locator(selector).first).to_be_visible()
    wait_until_idle(page)


def assert_presents(page: Page, path: str) -> None:
    """While the view is presented, by the key for it, it does not scroll sideways, nor is a formula cut at its edge.

    Its figure is wholly within the window, with letters that can be read.
    """
    resize(page, WINDOWS[0])
    wait_for_keys(page)
    page.keyboard.press("p")
    expect(page.locator(BAR)).to_have_css("opacity", "0")
    wait_until_idle(page)
    figures = tuple(each for each in VIEWS[path] if each not in CONTROLS and not each.startswith(".st-key-"))
    figures = PRESENTED.get(path, figures) if path in LOOKED_AT_PRESENTED else ()
    for selector in figures:
        expect(page.locator(selector).first).to_be_visible()
    wait_for_frames(page)
    assert not page.evaluate(_BEYOND), "presented"
    assert not out_of_sight(page, figures), "presented"
    assert not figures or smallest_text(page) >= SMALLEST, "presented"


@pytest.mark.parametrize("path", VIEWS)
def test_every_view_is_in_sight_can_be_read_and_shuts_no_one_out(visitors, path):
    """Whether anyone is shut out is looked at on one screen, and with the longer sentence; the home on two."""
    number = list(VIEWS).index(path)
    scheme, looked_at = SCREENS[number % len(SCREENS)]
    page = visitors[scheme]
    grows = path in HIGHER_WITH_A_LONGER_SENTENCE
    if VIEWS[path]:
        visit(page, WINDOWS[number % len(WINDOWS)], path, TEXT if grows else LONGER)
        for size in (WINDOWS[number % len(WINDOWS)], ZOOMED):
            resize(page, size)
            assert not out_of_sight(page, VIEWS[path]), size
            assert smallest_text(page) >= SMALLEST, size
        if grows:
            assert_presents(page, path)
    if grows or not VIEWS[path]:
        visit(page, looked_at, path, LONGER)
    else:
        resize(page, looked_at)
        wait_until_idle(page)
    assert not VIEWS[path] or smallest_text(page) >= SMALLEST, looked_at
    expect_accessible(page)
    if not grows:
        assert_presents(page, path)
    if path == "/":
        visit(visitors["dark"], PHONE, path, LONGER)
        expect_accessible(visitors["dark"])


@pytest.mark.parametrize("path", ["/inside?inside=masks", "/inside?inside=masks&head=cross.1.1"])
def test_what_a_mask_prevents_is_in_sight_beside_its_effect_with_twelve_tokens_too(visitors, path):
    page = visitors["light"]
    visit(page, WINDOWS[0], path, LONGER)
    assert not out_of_sight(page, VIEWS[path])
    leaking, effect = (page.locator(place).bounding_box() for place in VIEWS[path][:2])
    assert leaking["x"] + leaking["width"] <= effect["x"], "side by side"


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    """As WCAG 2 defines it, of red, green and blue from 0 to 255."""
    shares = np.array([one, other]) / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    low, high = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return (high + 0.05) / (low + 0.05)


# Of bars with numbers on them: the number's colour, and the bar's over the page's.
_BARS = """chart => [...chart.querySelectorAll(".point:has(.bartext-inside)")].map(point => {
    const colours = text => text.match(/[\\d.]+/g).map(Number), bar = getComputedStyle(point.querySelector("path"));
    const page = colours(getComputedStyle(document.querySelector("[data-testid=stApp]")).backgroundColor);
    const [red, green, blue, alpha = 1] = colours(bar.fill), opaque = alpha * bar.opacity * bar.fillOpacity;
    const paint = [red, green, blue].map((part, at) => opaque * part + (1 - opaque) * page[at]);
    return { ink: colours(getComputedStyle(point.querySelector("text")).fill), paint };
})"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/decoding?decoding_view=candidates", "/research?research=embeddings"])
def test_numbers_on_bars_stand_out_from_them(visitors, scheme, path):
    page = visitors[scheme]
    visit(page, WINDOWS[0], path, TEXT)
    expect(page.locator(f"{CHART} .bartext-inside").first).to_be_visible()
    bars = [bar for chart in page.locator(CHART).all() for bar in chart.evaluate(_BARS)]
    assert bars and min(contrast(np.array(bar["ink"][:3]), np.array(bar["paint"])) for bar in bars) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_weight_of_one_stands_out_from_the_page_and_digits_from_every_cell(visitors, scheme, shipped):
    page = visitors[scheme]
    resize(page, WINDOWS[0])
    strongest_of_each = shipped.trace(TEXT).cross.max(axis=(2, 3))
    layer, head = np.unravel_index(strongest_of_each.argmax(), strongest_of_each.shape)
    follow(page, f"/?map=1&text={quote(TEXT)}&head=cross.{layer + 1}.{head + 1}")
    expect(page.locator(f"{CHART} .scatterlayer text").first).to_be_visible()
    found = page.locator(CHART).first.evaluate(_CELLS)
    background, strongest = np.array(found["page"][:3]), 0.0
    for cell in found["cells"]:
        *paint, opaque = cell["paint"]
        colour = opaque / 255 * np.array(paint) + (1 - opaque / 255) * background
        assert contrast(colour, np.array(cell["ink"][:3])) >= 4.5, cell
        if cell["weight"] > 0.985:
            strongest = max(strongest, contrast(colour, background))
    assert strongest >= 7
