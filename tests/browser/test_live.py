"""What people do with trainings: start one and watch it, stop it, share it, compare two; and nobody else is held up."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import accessibility_problems, follow, wait_for_frames, wait_until_idle
from support.server import until

LEARNED_SOON = {"task": "copy", "symbols_long": "4", "number_of_letters": "7", "toy_width": "32", "toy_layers": "1"}
# Takes minutes up to its limit of updates: a test stops it long before.
LARGE = {"task": "sort", "symbols_long": "20", "number_of_letters": "26", "toy_width": "128", "toy_layers": "3"}


def link(address: str, view: str = "train live", **query: str) -> str:
    chosen = {"training": view, **query}
    return f"{address}/training?" + "&".join(f"{name}={quote(value)}" for name, value in chosen.items())


def press(page: Page, label: str) -> None:
    page.get_by_role("button", name=label, exact=True).click()


def metric(page: Page, label: str) -> Locator:
    return page.get_by_test_id("stMetric").filter(has_text=label).get_by_test_id("stMetricValue").first


def stop_button(page: Page) -> Locator:
    """The page's own; Streamlit has one, too, above a page that takes long to draw."""
    return page.get_by_test_id("stMain").get_by_role("button", name="Stop", exact=True)


def expect_to_shut_no_one_out(page: Page) -> None:
    """A page that draws itself anew each second may be half faded while axe looks: then it looks again."""
    until(lambda: not accessibility_problems(page))


@pytest.fixture
def phone(visitor) -> Page:
    """Another browser, on a phone."""
    return visitor("phone", width=390, height=844)


def test_a_training_is_watched_to_its_end_and_another_browser_sees_the_same(page, phone, address):
    """On a phone it is looked at before, while and after it runs, for whether that shuts anyone out."""
    phone.goto(link(address, **LEARNED_SOON))
    expect(phone.get_by_text("Its task is")).to_be_visible()
    wait_until_idle(phone)
    expect_to_shut_no_one_out(phone)
    page.goto(link(address, **LEARNED_SOON))
    press(page, "Start training")
    expect(page).to_have_url(re.compile("job="))
    phone.goto(page.url)
    expect(page.locator(".place")).to_have_text(re.compile(r"Update \d+ of \d+"))
    expect(phone.locator(".place")).to_be_visible()
    expect_to_shut_no_one_out(phone)
    learned = page.get_by_text("Learned after")
    expect(learned).to_be_visible()
    expect(stop_button(page)).to_have_count(0)
    expect(page.get_by_text("✓ exactly")).to_be_visible()
    wait_until_idle(page)
    expect(phone.get_by_text("Learned after")).to_be_visible()
    wait_until_idle(phone)
    expect_to_shut_no_one_out(phone)
    phone.reload()  # now it has nothing but the address
    expect(phone.get_by_text("Learned after")).to_have_text(learned.inner_text())
    expect(phone.locator(".place")).to_have_text(page.locator(".place").inner_text())


def job_of(page: Page) -> str:
    return re.findall("job=([^&]+)", page.url)[0]


def test_a_training_goes_on_while_others_translate_and_settings_change_and_can_be_stopped(page, address, elsewhere):
    page.goto(link(address, **LARGE))
    press(page, "Start training")
    expect(metric(page, "Update")).to_be_visible()
    other = elsewhere()
    other.goto(address)
    other.get_by_label("Sentence to translate").fill("Where is my cat?")
    other.get_by_label("Sentence to translate").press("Enter")
    expect(other.get_by_text("Katze").first).to_be_visible()
    before = metric(page, "Update").inner_text()
    expect(metric(page, "Update")).not_to_have_text(before)
    expect(page.locator(".place")).to_be_visible()
    page.locator(".st-key-head_buttons").get_by_text("3", exact=True).click()
    expect(page.get_by_role("heading", name=re.compile("Cross-attention, layer [123], head 3"))).to_be_visible()
    page.get_by_text("Task, model and seed").click()
    page.locator(".st-key-task").get_by_text("reverse", exact=True).click()
    expect(page).not_to_have_url(re.compile("task="))
    expect(page.get_by_text("Sort: write it in order")).to_be_visible()
    expect(page.get_by_role("heading", name=re.compile("Cross-attention, layer [123], head 3"))).to_be_visible()
    stop_button(page).click()
    expect(page.get_by_text("Stopped after")).to_be_visible()
    expect(stop_button(page)).to_have_count(0)
    stopped = metric(page, "Update").inner_text()
    page.reload()
    expect(metric(page, "Update")).to_have_text(stopped)


def test_a_training_under_way_is_all_in_one_screen_and_another_start_asks(visitor, address):
    page = visitor(width=1366, height=768)
    page.goto(link(address, toy_seed="4"))
    press(page, "Start training")
    expect(page.locator(".place")).to_have_text(re.compile(r"Update [1-9]\d* of \d+"))
    places = (".strip", "table.map", "canvas.all", ".curves svg >> nth=0", ".curves svg >> nth=2")
    for place in places:
        expect(page.locator(place)).to_be_visible()
    wait_for_frames(page)
    for place in places:
        box = page.locator(place).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 768, place
    table, loss = (page.locator(place).bounding_box() for place in ("table.map", ".curves svg >> nth=0"))
    assert table["y"] <= loss["y"] + loss["height"] and loss["y"] <= table["y"] + table["height"], "side by side"
    assert stop_button(page).get_attribute("data-testid") == "stBaseButton-primary"
    expect(page.get_by_text("reads the right symbol most often: ")).to_be_visible()
    first = job_of(page)
    press(page, "Start again")
    expect(page.get_by_text("This view leaves the training under way.")).to_be_visible()
    assert job_of(page) == first
    press(page, "Leave it and start again")
    expect(page).not_to_have_url(re.compile(f"job={first}"))
    stop_button(page).click()
    expect(page.get_by_role("button", name="Start training", exact=True)).to_be_visible()


def test_two_runs_share_one_figure_stop_together_and_shut_no_one_out(visitor, address):
    page = visitor(width=1440, height=844, scheme="dark")
    page.goto(link(address, "compare runs"))
    expect(page.get_by_role("button", name="Start both")).to_be_visible()
    wait_until_idle(page)
    expect_to_shut_no_one_out(page)
    follow(page, link("", "compare runs", hyperparameter="norm"))
    press(page, "Start both")
    expect(page.get_by_role("button", name="Stop both")).to_be_visible()
    expect(page.get_by_role("figure", name=re.compile("of pre-norm and post-norm"))).to_be_visible()
    expect(page.locator(".legendtext")).to_have_text(["pre-norm", "post-norm"])
    press(page, "Stop both")
    expect(page.get_by_text("Stopped after")).to_have_count(2)
    expect(page.locator(".finding .headline")).to_be_visible()
    page.locator(".finding summary").click()
    expect(page.get_by_text("updates, and one seed")).to_be_visible()
    wait_until_idle(page)
    expect_to_shut_no_one_out(page)
