"""The live model in one file in Firefox, from a disk and without a network."""

from support.firefox import firefox
from support.traces import CHECKPOINTS, rounded_translator

from headlight.lessons.export import export_lessons
from headlight.lessons.file import read_lessons
from headlight.views.live.content import live_file
from transformer.checkpoint import load_checkpoint
from transformer.interpret.head_patterns import word_ranges
from transformer.interpret.what_if.hiding import hide

NAME, FIRST, SECOND = "en-de", "I love my teacher.", "She reads a book."
TRANSLATION = "return document.querySelector('#live_translation').textContent"
SHOWN = "return document.body.dataset.shown === arguments[0]"
PANEL = "const panel = document.querySelector('.lesson_side .component').shadowRoot.querySelector('.lesson'); "


def in_component(view: str, script: str) -> str:
    """Return a script that has the tree of a view's component as `component`."""
    return f"const component = document.querySelector('[data-view={view}] .component').shadowRoot; {script}"


def test_every_view_and_a_question_of_a_lesson(tmp_path):
    lessons = export_lessons([each for each in read_lessons()[0] if each.name == "attention"], CHECKPOINTS / NAME)
    page, profile = tmp_path / "live.html", tmp_path / "profile"
    page.write_text(live_file(load_checkpoint(CHECKPOINTS / NAME), NAME, text=FIRST, lessons=lessons), encoding="utf-8")
    profile.mkdir()
    model = rounded_translator(NAME)
    with firefox(profile) as browser:
        browser.open(page)
        assert browser.wait_for(TRANSLATION) == model.trace(FIRST).target_text
        assert browser.evaluate("return headlight.where") == {"kernel": "WebAssembly SIMD", "where": "worker"}
        browser.type("#live_text", SECOND)
        trace = model.trace(SECOND)
        browser.wait_for(f"{TRANSLATION} === arguments[0]", trace.target_text)

        word = word_ranges(trace.source_tokens)[1]
        browser.wait_for(in_component("home", "return component.querySelectorAll('.source button').length > 4"))
        browser.evaluate(in_component("home", f"component.querySelectorAll('.source button')[{word.start}].click()"))
        after = model.trace(SECOND, interventions=hide(list(word)))
        tokens = "return component.querySelectorAll('.output .token').length === arguments[0]"
        browser.wait_for(in_component("home", tokens), len(after.target_tokens))

        for view in ("attention", "decoding", "heads", "inside"):
            browser.evaluate("document.querySelector(`[data-tab=${arguments[0]}]`).click()", view)
            browser.wait_for(SHOWN, view)
        switches = "return component.querySelectorAll('td button').length"
        assert browser.evaluate(in_component("heads", switches)) == 72
        other = int(trace.candidate_ids[0, 1])
        browser.evaluate("location.hash = arguments[0]", f"decoding?text={SECOND}&prefix={other}")
        now = "return component.querySelector('.now').textContent === arguments[0]"
        browser.wait_for(in_component("decoding", now), model.trace(SECOND, prefix=(other,)).target_text)
        requests = "return performance.getEntriesByType('resource').map(each => each.name)"
        assert [url for url in browser.evaluate(requests) if not url.startswith("blob:")] == []

        answer = next(iter(lessons["lessons"][0]["steps"][0]["answers"].values()))
        names = [name for name, _ in answer["panel"]["options"]]
        browser.evaluate("document.querySelector('[data-tab=lessons]').click()")
        browser.wait_for(SHOWN, "lessons")
        browser.evaluate("document.querySelector('.lesson_card button').click()")
        count = "return panel.querySelectorAll('.options button').length === arguments[0]"
        browser.wait_for(PANEL + count, len(names))
        choose = PANEL + "panel.querySelectorAll('.options button')[arguments[0]].click()"
        browser.evaluate(choose, names.index(answer["told"]["right"][0]))
        browser.wait_for(PANEL + "return panel.querySelector('.options .right') !== null")
        browser.evaluate(PANEL + "panel.querySelector('.next').click()")
        browser.wait_for(PANEL + "return panel.querySelector('.place').textContent.startsWith('2 of')")
