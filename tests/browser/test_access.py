"""Every page, wide and narrow, light and dark: usable without a mouse or good eyes, nothing wider than the screen."""

from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from rest import at_rest, at_rest_for_good

LONG = "I can't swim, and I don't want to learn it."
PAGES = {
    "/": "Translate",
    "/decoding": "Decoding",
    "/decoding?decoding=beam&beam=3&prefix=258": "Decoding",
    "/attention": "Attention",
    f"/attention?see_kind=decoder&see_view=lines&see_heads={quote('1.1-2.3')}": "Attention",
    "/attention?attention=rollout": "Attention",
    f"/attention?attention={quote('beyond the weights')}": "Attention",
    "/positions": "Positional encoding",
    "/positions?positions=adding": "Positional encoding",
    "/positions?positions=rotation": "Positional encoding",
    "/masks": "Masks",
    f"/masks?masks={quote('one head')}": "Masks",
    f"/masks?masks={quote('without the mask')}": "Masks",
    "/training": "Training",
    "/training?training=film&checkpoint=en-fr": "Training",
    "/training?training=knobs": "Training",
    "/training?training=rate": "Training",
    f"/training?training={quote('label smoothing')}": "Training",
    "/training?training=batches": "Training",
}
WITHOUT_FIGURE = {"/training", "/training?training=knobs"}  # until something is started
# Each page as its address opens it is looked at on all four, its other views on two.
SCREENS = {"wide, light": (1440, "light"), "phone, dark": (390, "dark")}
OTHER_SCREENS = {"wide, dark": (1440, "dark"), "phone, light": (390, "light")}
CASES = [(path, screen) for path in PAGES for screen in SCREENS] + [
    (path, screen) for path in PAGES if "?" not in path for screen in OTHER_SCREENS
]


def drawn(page: Page, path: str) -> None:
    """Wait until the page stands: its title, a figure or a player, and no script running."""
    expect(page.get_by_role("heading", name=PAGES[path], exact=True)).to_be_visible()
    if path in WITHOUT_FIGURE:
        at_rest_for_good(page)
    else:
        expect(page.locator("[data-testid=stPlotlyChart] .main-svg, .place, .numbers dd").first).to_be_visible()
        at_rest(page)


@pytest.mark.parametrize("path, screen", CASES)
def test_no_page_shuts_anyone_out(browser, address, path, screen):
    width, scheme = {**SCREENS, **OTHER_SCREENS}[screen]
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{address}{path}{'&' if '?' in path else '?'}text={quote(LONG)}")
    drawn(page, path)
    violations = Axe().run(page).response["violations"]
    grave = [
        f"{violation['id']}: {node['html'][:120]}"
        for violation in violations
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]
    assert not grave, "\n".join(grave)
    main = page.locator("[data-testid=stMain]")
    assert main.evaluate("main => main.scrollWidth") <= main.evaluate("main => main.clientWidth")
    context.close()
