"""What a person does inside attention: points, clicks, types on the keys, shares the place, changes toy numbers."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import wait_for_keys, wait_until_idle

STEPS = 12
SUM = re.compile(r"(?:=|:|gives:) (−?[\d.]+)\. The model has (−?[\d.]+), difference (\S+)\.$", re.MULTILINE)


def open_inside(page: Page, address: str, **query: str) -> None:
    """The page with these names in its address; all steps below one another unless it says which."""
    query = {"at_step": "all", **query}
    page.goto(f"{address}/inside?" + "&".join(f"{name}={quote(value)}" for name, value in query.items()))
    expect(page.locator("li.step:not([hidden]) canvas").first).to_be_visible()
    wait_for_keys(page)
    expect(page.locator(".steps[data-drawn]")).to_be_attached()  # what is not in sight is drawn one by one


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def tiny(text: str) -> float:
    digit, _, power = text.partition("·10")
    return int(digit) * 10.0 ** int(power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0)


def difference_in(text: str) -> float:
    found = SUM.search(text)
    assert found, text
    recomputed, own = map(number, found.groups()[:2])
    assert abs(recomputed - own) <= 1.1e-4
    return tiny(found[3])


def hand(page: Page, step: str):
    return page.locator(f"li.step.{step} .hand")


def shown(page: Page) -> Locator:
    return page.locator("li.step:not([hidden]) h3")


def test_one_step_at_a_time_by_buttons_and_arrow_keys_and_the_link_keeps_it(page, address, elsewhere):
    open_inside(page, address, at_step="")
    rail = page.get_by_role("navigation", name="Steps of the block")
    expect(shown(page)).to_have_text(["4Every query times every key"])
    expect(page.locator("li.step.products .worked tr")).to_have_count(4)
    rail.get_by_role("button", name="Input X").click()
    expect(shown(page)).to_have_text(["1Input X"])
    expect(rail.get_by_role("button", name="Step before")).to_be_disabled()
    rail.get_by_role("button", name="Every query times every key").click()
    expect(shown(page)).to_have_text(["4Every query times every key"])
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(shown(page)).to_have_text(["7Softmax: scores become weights"])
    expect(rail.locator("[aria-current=step]")).to_have_text("7Softmax: scores become weights")
    maps = page.locator("li.step.softmax")
    left, right = (maps.locator(f".panels.{which} canvas").bounding_box() for which in ("inputs", "own"))
    assert left["x"] + left["width"] <= right["x"], "the scores it takes stand on its left"
    page.wait_for_url("**at_step=softmax**")
    page.locator("li.step.softmax .panels.own canvas").focus()
    page.keyboard.press("ArrowLeft")
    # In a matrix the arrows move from cell to cell.
    assert shown(page).all_text_contents() == ["7Softmax: scores become weights"]
    other = elsewhere()
    other.goto(page.url)
    expect(other.locator("li.step:not([hidden]) h3")).to_have_text("7Softmax: scores become weights")
    rail.get_by_role("button", name="all", exact=True).click()
    expect(shown(page)).to_have_count(STEPS)
    page.wait_for_url("**at_step=all**")


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_every_step_writes_out_a_sum_that_is_the_models(page, address, kind):
    open_inside(page, address, head=f"{kind}.2.3", query="3", key="2", at_dimension="70")
    expect(page.locator("li.step")).to_have_count(STEPS)
    steps = ("project", "split", "products", "scale", "mask", "softmax", "values", "concatenate", "output", "residual")
    for step in (*steps, "norm_last"):
        assert difference_in(hand(page, step).inner_text()) < 1e-4


def test_pointing_at_a_cell_writes_out_its_sum_and_leaving_it_the_chosen_one(page, address):
    open_inside(page, address, head="encoder.1.1", query="3", key="2")
    canvas = page.locator("li.step.products .panels.own canvas")
    before = hand(page, "products").text_content()
    assert before.startswith("“my” reading “love”:")
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] - 20, "y": box["height"] - 15})
    expect(hand(page, "products")).to_contain_text("“⟨end⟩” reading “⟨end⟩”:")
    assert difference_in(hand(page, "products").inner_text()) < 1e-4
    page.mouse.move(5, 5)
    expect(hand(page, "products")).to_have_text(before)


def test_a_click_chooses_query_and_key_everywhere_and_the_link_keeps_them(page, address, elsewhere):
    open_inside(page, address, head="encoder.1.1")
    canvas = page.locator("li.step.softmax .panels.own canvas")
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] - 20, "y": box["height"] - 15})
    expect(page.locator(".queries button[aria-pressed=true]")).to_have_text("⟨end⟩")
    expect(page.locator(".keys button[aria-pressed=true]")).to_have_text("⟨end⟩")
    expect(hand(page, "scale")).to_contain_text("“⟨end⟩” reading “⟨end⟩”:")
    page.wait_for_url(re.compile(r"query=6.*key=6|key=6.*query=6"))
    other = elsewhere()
    other.goto(page.url)
    expect(other.locator(".queries button[aria-pressed=true]")).to_have_text("⟨end⟩")


def test_tokens_are_buttons_and_the_keys_move_from_cell_to_cell(page, address):
    open_inside(page, address, head="encoder.1.1", query="1", key="1")
    page.get_by_role("group", name="Query").get_by_role("button", name="teacher").click()
    expect(hand(page, "products")).to_contain_text("“teacher” reading “I”:")
    page.locator("li.step.products .panels.own canvas").focus()
    page.keyboard.press("ArrowRight")
    expect(hand(page, "products")).to_contain_text("“teacher” reading “love”:")
    page.keyboard.press("Enter")
    expect(page.locator(".keys button[aria-pressed=true]")).to_have_text("love")


def test_a_dimension_of_another_head_is_said_so(page, address):
    open_inside(page, address, head="cross.1.2", at_dimension="40")
    assert difference_in(hand(page, "project").inner_text()) < 1e-4
    page.get_by_role("spinbutton", name="Dimension").fill("200")
    page.keyboard.press("Enter")
    expect(hand(page, "project")).to_contain_text("belongs to head 7: choose head 7")
    expect(hand(page, "split")).to_have_text("Dimension 200 is another head's.")


def test_a_strip_has_all_dimensions_and_a_click_in_it_slides_to_others(page, address, elsewhere):
    open_inside(page, address, head="encoder.1.2", at_step="output", query="2", at_dimension="40")
    step = page.locator("li.step.output")
    expect(step.locator(".own figcaption")).to_contain_text("6 × 256, columns 33 to 40")
    page.get_by_role("button", name="draw all").click()
    expect(step.locator(".own figcaption")).to_contain_text("6 × 256, columns 33 to 64")
    page.get_by_role("button", name="draw all").click()
    expect(step.locator(".own figcaption")).to_contain_text("6 × 256, columns 33 to 40")
    strip = step.locator(".own canvas.strip")
    box = strip.bounding_box()
    assert box["width"] > 600 and 10 <= box["height"] <= 20
    strip.hover(position={"x": box["width"] - 4, "y": 5})
    expect(hand(page, "output")).to_contain_text("“love”, dimension 256:")
    assert difference_in(hand(page, "output").inner_text()) < 1e-4
    strip.click(position={"x": box["width"] - 4, "y": 5})
    expect(step.locator(".own figcaption")).to_contain_text("columns 249 to 256")
    page.wait_for_url(re.compile("at_dimension=256"))
    other = elsewhere()
    other.goto(page.url)
    expect(other.locator("li.step.output .own figcaption")).to_contain_text("columns 249 to 256")


def test_with_another_head_goes_the_chosen_dimension_and_its_columns(page, address):
    open_inside(page, address, head="encoder.1.2", at_step="project", at_dimension="40")
    expect(page.locator("li.step.project .own figcaption").first).to_contain_text("columns 33 to 40")
    page.get_by_role("radiogroup", name="Head").get_by_role("radio", name="5", exact=True).click()
    expect(page.locator("li.step.project .own figcaption").first).to_contain_text("columns 129 to 136")
    page.wait_for_url(re.compile("at_dimension=136"))
    assert difference_in(hand(page, "project").inner_text()) < 1e-4


def test_hostile_tokens_are_only_text(page, address):
    page.on("dialog", lambda dialog: pytest.fail("a script ran"))
    open_inside(page, address, text='<img src=x onerror="alert(1)"> & <b>bold</b>')
    assert not page.locator(".diagram img, li.step img, .tokens img").count()
    expect(page.get_by_role("group", name="Query").get_by_role("button").nth(1)).to_be_visible()


def test_a_long_sentence_stays_usable_on_a_phone(visitor, address):
    page = visitor(width=390, height=844, scheme="dark")
    open_inside(page, address, text=" ".join(["I love my teacher and the birds sing ,"] * 6), query="40", key="41")
    main = page.locator("[data-testid=stMain]")
    assert main.evaluate("main => main.scrollWidth") <= main.evaluate("main => main.clientWidth")
    assert difference_in(hand(page, "softmax").inner_text()) < 1e-4


def test_a_click_closes_a_cell_of_the_toy_mask_and_the_link_keeps_it(page, address, elsewhere):
    open_inside(page, address, inside="small example")
    canvas = page.locator("li.step.mask .panels.own canvas")
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] - 35, "y": box["height"] - 15})
    expect(page.locator("li.step.mask .finding")).to_contain_text("Masked: 1 of 9 cells")
    expect(hand(page, "softmax")).to_contain_text("masked: exp(−∞) = 0")
    page.wait_for_url(re.compile(r"toy_flipped=0{8}1"))
    other = elsewhere()
    other.goto(page.url)
    expect(other.locator("li.step.mask .finding")).to_contain_text("Masked: 1 of 9 cells")


def test_a_number_of_the_toy_table_is_changed_and_taken_back(page, address):
    open_inside(page, address, inside="small example")
    expect(hand(page, "input")).to_contain_text("“token 1”, dimension 1: The float32 number here has −0.9000.")
    table = page.locator(".st-key-toy_editor")
    first = table.get_by_test_id("glide-cell-1-0")  # of what is read out, which the drawn grid makes a moment later
    expect(first).to_have_text("-0.9")
    table.locator(".dvn-scroller").click(position={"x": 90, "y": 52})  # right of the names, below the head
    expect(first).to_be_focused()  # the focus goes to the drawing first: what is pressed on its way may be lost
    page.keyboard.press("Enter")
    page.locator("#portal input").fill("2.5")
    page.keyboard.press("Enter")
    expect(hand(page, "input")).to_contain_text("The float32 number here has 2.5000.")
    told = {step: page.locator(f"li.step.{step} .own figcaption").first for step in ("input", "softmax", "values")}
    expect(told["input"]).to_contain_text("framed in orange: 1 changed by you")
    expect(told["softmax"]).to_contain_text("framed in orange: 9 changed by you")  # as query, and as key of all
    page.locator(".keys button").nth(1).click()
    page.wait_for_url(re.compile("key=2"))
    wait_until_idle(page)
    expect(told["input"]).to_contain_text("1 changed by you")
    page.get_by_role("button", name="Back to the numbers of the seed").click()
    expect(hand(page, "input")).to_contain_text("has −0.9000.")


def test_a_block_of_the_diagram_is_chosen_by_click_and_by_key(page, address, elsewhere, shipped):
    page.goto(f"{address}/inside?inside=architecture")
    page.get_by_role("button", name=re.compile("^Cross-attention")).click()
    expect(page.get_by_role("heading", name="Multi-head cross-attention, decoder layer 1")).to_be_visible()
    wait_until_idle(page)  # a diagram that is drawn anew takes the focus away
    page.get_by_role("button", name="decoder layer 3").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Multi-head cross-attention, decoder layer 3")).to_be_visible()
    page.wait_for_url(re.compile("block=decoder.2.cross_attention"))
    other = elsewhere()
    other.goto(page.url)
    expect(other.get_by_role("button", name="decoder layer 3")).to_have_attribute("aria-pressed", "true")
    config = shipped.model.config
    names = [f"Encoder × {config.num_encoder_layers}", f"Decoder × {config.num_decoder_layers}"]
    expect(page.locator("text.stack")).to_have_text(names)
    expect(page.get_by_text("% of all parameters")).to_be_visible()
    page.get_by_role("button", name="Step by step through this block").click()
    expect(shown(page)).to_have_text(["4Every query times every key"])
    page.wait_for_url(re.compile("head=cross.3"))
