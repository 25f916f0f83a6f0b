"""The live model in one file in a Firefox, from a disk and without a network."""

import base64
from pathlib import Path

from support.firefox import firefox
from support.traces import CHECKPOINTS, rounded_translator

from headlight.lessons.export import export_lessons
from headlight.lessons.file import read_lesson
from headlight.views.live.content import live_file
from transformer.checkpoint import load_checkpoint
from transformer.interpret.head_patterns import word_ranges
from transformer.interpret.what_if.hiding import hide

NAME, FIRST, SECOND = "en-de", "I love my teacher.", "She reads a book."
TRANSLATION = "return document.querySelector('#live_translation').textContent"
SHOWN = "return document.body.dataset.shown === arguments[0]"


def in_component(view: str, script: str) -> str:
    """A script that has the tree of a view's component as `component`."""
    return f"const component = document.querySelector('[data-view={view}] .component').shadowRoot; {script}"


def test_a_journey(tmp_path):
    checkpoint = load_checkpoint(CHECKPOINTS / NAME)
    file, profile = tmp_path / "live.html", tmp_path / "profile"
    file.write_text(live_file(checkpoint, NAME, text=FIRST), encoding="utf-8")
    profile.mkdir()
    model = rounded_translator(NAME)
    with firefox(profile) as browser:
        browser.open(file)
        assert browser.wait_for(TRANSLATION) == model.trace(FIRST).target_text
        where = browser.evaluate("return headlight.where")
        assert where == {"kernel": "WebAssembly SIMD", "where": "worker"}
        browser.type("#live_text", SECOND)
        trace = model.trace(SECOND)
        browser.wait_for(f"{TRANSLATION} === arguments[0]", trace.target_text)

        word = word_ranges(trace.source_tokens)[1]
        browser.wait_for(in_component("home", "return component.querySelectorAll('.source button').length > 4"))
        browser.evaluate(in_component("home", f"component.querySelectorAll('.source button')[{word.start}].click()"))
        hidden = "return component.querySelectorAll('.source .hidden').length"
        assert browser.wait_for(in_component("home", hidden)) == len(word)
        after = model.trace(SECOND, interventions=hide(list(word)))
        tokens = "return component.querySelectorAll('.output .token').length === arguments[0]"
        browser.wait_for(in_component("home", tokens), len(after.target_tokens))

        for view in ("attention", "decoding", "heads", "inside"):
            browser.evaluate("document.querySelector(`[data-tab=${arguments[0]}]`).click()", view)
            browser.wait_for(SHOWN, view)
        off = "return component.querySelectorAll('td button').length"
        assert browser.evaluate(in_component("heads", off)) == 72
        other = int(trace.candidate_ids[0, 1])
        forced = model.trace(SECOND, prefix=(other,))
        browser.evaluate("location.hash = arguments[0]", f"decoding?text={SECOND}&prefix={other}")
        now = "return component.querySelector('.now').textContent === arguments[0]"
        browser.wait_for(in_component("decoding", now), forced.target_text)
        picture = base64.b64decode(browser.ask("WebDriver:TakeScreenshot", full=False))
        assert picture.startswith(b"\x89PNG")
        (tmp_path / "firefox.png").write_bytes(picture)
        # Nothing but the worker's own text was ever asked for.
        asked = "return performance.getEntriesByType('resource').map(each => each.name)"
        assert [url for url in browser.evaluate(asked) if not url.startswith("blob:")] == []


LESSON = Path(__file__).parents[2] / "headlight" / "lessons" / "shipped" / "attention.toml"
PANEL = "const panel = document.querySelector('.lesson_side .component').shadowRoot.querySelector('.lesson'); "


def test_a_question_of_a_lesson(tmp_path):
    """Begun from the list, answered wrongly and rightly, shown, and the step after it."""
    told, checkpoint = export_lessons([read_lesson(LESSON)], CHECKPOINTS / NAME), load_checkpoint(CHECKPOINTS / NAME)
    file, profile = tmp_path / "live.html", tmp_path / "profile"
    file.write_text(live_file(checkpoint, NAME, text=FIRST, lessons=told), encoding="utf-8")
    profile.mkdir()
    answer = next(iter(told["lessons"][0]["steps"][0]["answers"].values()))
    names = [name for name, _ in answer["panel"]["options"]]
    right = {names.index(name) for name in answer["told"]["right"]}
    with firefox(profile) as browser:
        browser.open(file)
        browser.wait_for(TRANSLATION)
        browser.evaluate("document.querySelector('[data-tab=lessons]').click()")
        browser.wait_for(SHOWN, "lessons")
        browser.evaluate("document.querySelector('.lesson_card button').click()")
        count = "return panel.querySelectorAll('.options button').length === arguments[0]"
        browser.wait_for(PANEL + count, len(names))
        choose = PANEL + "panel.querySelectorAll('.options button')[arguments[0]].click()"
        says = PANEL + "return panel.querySelector('.feedback').textContent.startsWith(arguments[0])"
        browser.evaluate(choose, min(set(range(len(names))) - right))
        browser.wait_for(says, "Not yet. You said")
        browser.evaluate(choose, min(right))
        browser.wait_for(says, "Right! ")
        browser.evaluate(PANEL + "panel.querySelector('.show').click()")
        browser.wait_for(SHOWN, "home")
        browser.evaluate(PANEL + "panel.querySelector('.next').click()")
        browser.wait_for(PANEL + "return panel.querySelector('.place').textContent === arguments[0]", "2 of 6")
        picture = base64.b64decode(browser.ask("WebDriver:TakeScreenshot", full=False))
        (tmp_path / "firefox.png").write_bytes(picture)
        assert picture.startswith(b"\x89PNG")
