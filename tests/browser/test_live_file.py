"""The live model in one file: opened from a disk without a network, it shows the numbers that Python computes."""

import re
from collections.abc import Iterator
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser import expect_accessible, go_to, show, wait_until_idle
from support.chromium import new_visitor
from support.firefox import firefox
from support.server import until
from support.traces import CHECKPOINTS, rounded_translator

from headlight.classroom import PER_FORM
from headlight.lessons.export import export_lessons
from headlight.lessons.file import read_lessons
from headlight.lessons.quiz_bank import bank
from headlight.plots.tokens import chip_text, shown_token
from headlight.views.live.content import live_file
from headlight.views.live.replay import find_replay, reduced
from transformer import Translator
from transformer.checkpoint import load_checkpoint
from transformer.corpus.head_roles import find_roles
from transformer.exchange.int8 import round_weights
from transformer.interpret.attention_block import record_stages
from transformer.interpret.head_patterns import word_ranges
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.hiding import hide
from transformer.interpret.what_if.importance import head_importance
from transformer.interpret.what_if.intervention import Zero
from transformer.model.names import AttentionKind

NAME, LESSON = "en-de", "attention"
SENTENCE, OTHER = "He bought a ticket at the train station.", "She reads a book."
TYPED = "The man told us a long story about the sea."
EVIL = "</script><img src=x onerror=window.hurt=1><!--<script> \U0001f600 {{7*7}} &lt;b&gt; ‮ a\u0300\ufffd"
VIEWS = ("home", "pass", "attention", "decoding", "heads", "inside", "training", "lessons")


@pytest.fixture(scope="module")
def exported() -> dict:
    return export_lessons([each for each in read_lessons()[0] if each.name == LESSON], CHECKPOINTS / NAME)


@pytest.fixture(scope="module")
def file(exported) -> str:
    """The page with everything that it can hold."""
    checkpoint = load_checkpoint(CHECKPOINTS / NAME)
    roles = find_roles(CHECKPOINTS / NAME, checkpoint.model)
    return live_file(checkpoint, NAME, roles, SENTENCE, find_replay(CHECKPOINTS / NAME), exported)


@pytest.fixture(scope="module")
def opened(files, file) -> Page:
    """One window with the page, for all tests that need no other screen."""
    return files(file)


@pytest.fixture
def page_of_file(opened) -> Iterator[Page]:
    """The window at Home with the first sentence."""
    go_to(opened, "home", text=SENTENCE)
    expect(opened.locator("#live_text")).to_have_value(SENTENCE)
    yield opened
    opened.evaluate("localStorage.clear()")


@pytest.fixture(scope="module")
def rounded() -> Translator:
    """The model in PyTorch with the weights of the page."""
    return rounded_translator(NAME)


@pytest.fixture(scope="module")
def trace(rounded) -> Trace:
    return rounded.trace(SENTENCE)


def translation(page: Page) -> Locator:
    return page.locator("#live_translation")


def test_home_translates_as_one_types_and_hides_words(page_of_file, rounded, trace):
    page, other = page_of_file, rounded.trace(OTHER)
    expect(translation(page)).to_have_text(trace.target_text)
    for text in (TYPED, OTHER):
        page.locator("#live_text").fill("")
        page.locator("#live_text").press_sequentially(text)
        expect(translation(page)).to_have_text(rounded.trace(text).target_text)
    words = word_ranges(other.source_tokens)
    page.locator(".row.source button").nth(words[1].start).click()
    after = rounded.trace(OTHER, interventions=hide(list(words[1])))
    expect(page.locator(".row.output .token")).to_have_text(list(map(chip_text, after.target_tokens)))
    assert page.url.endswith("#home?text=She+reads+a+book.&hidden=2")
    page.go_back()
    expect(page.locator(".row.source .hidden")).to_have_count(0)
    page.go_forward()
    expect(page.locator(".row.source .hidden")).to_have_count(len(words[1]))


def test_attention_has_every_weight_of_a_head(page_of_file, trace):
    page = page_of_file
    show(page, "attention", text=SENTENCE, head="decoder.2.3", query="3")
    page.locator("details.weights summary").click()
    cells, count = page.locator("details.weights td"), len(trace.target_ids)
    expect(cells).to_have_count(count * (count + 1))  # each row ends with its entropy
    weights = [float(cell) for cell in cells.all_inner_texts() if re.fullmatch(r"\d\.\d{4}", cell)]
    np.testing.assert_allclose(weights, trace.decoder[1, 2][np.tril_indices(count)], atol=1.1e-4)


def test_decoding_continues_from_a_forced_token(page_of_file, rounded, trace):
    page = page_of_file
    show(page, "decoding", text=SENTENCE, step="2")
    shares = [float(text.removesuffix(" %")) for text in page.locator("tbody .bar span").all_inner_texts()[1:3]]
    np.testing.assert_allclose(shares, 100 * trace.candidate_probabilities[1, 1:3], atol=0.06)
    page.locator("[data-view=decoding] tbody tr").nth(1).locator("button").click()
    forced = rounded.trace(SENTENCE, prefix=(trace.target_ids[0], int(trace.candidate_ids[1, 1])))
    expect(page.locator(".branch .now")).to_have_text(forced.target_text)
    expect(page.locator(".branch .own")).to_have_text(trace.target_text)
    expect(page.locator("tr.taken.forced button")).to_have_text(shown_token(forced.target_tokens[1]))
    page.get_by_role("button", name="Back to the model's own choice").click()
    expect(page.locator(".branch")).to_be_hidden()
    for prefix in ("999999", "x", "2.2"):
        show(page, "decoding", text=SENTENCE, prefix=prefix)
        expect(page.locator(".place").last).to_be_visible()
        expect(page.locator(".branch")).to_be_hidden()
        assert "prefix" not in page.url


def loss_of(label: str) -> float:
    """Return the nats of log P that a switch names as lost without its head."""
    moved = re.search(r"([\d.]+) times (less|more) likely", label)
    return 0.0 if not moved else np.log(float(moved[1])) * (1 if moved[2] == "less" else -1)


def test_heads_go_off_with_their_losses_and_a_second_worker_helps_for_a_while(files, file, rounded, trace):
    page = files(file)
    expect(translation(page)).not_to_be_empty()
    assert len(page.workers) == 1
    started: list[object] = []
    page.on("worker", lambda worker: started.append(worker))
    show(page, "heads")
    importance = head_importance(rounded.model, trace.source_ids, trace.target_ids)
    for kind in AttentionKind:
        switches = page.locator(f"[data-kind={kind}][data-layer='1']")
        expect(switches).to_have_count(8)
        losses = [loss_of(each.get_attribute("aria-label")) for each in switches.all()]
        np.testing.assert_allclose(losses, importance.total(kind)[1], rtol=0.06, atol=0.05)
    until(lambda: len(started) == 1 and len(page.workers) == 1 or page.wait_for_timeout(50))
    first = rounded.study(SENTENCE).head_losses("zero", AttentionKind.CROSS).default_head()
    pressed = page.locator("td button[aria-pressed=true]")
    expect(pressed).to_have_attribute("data-name", f"{first.kind}.{first.layer + 1}.{first.head + 1}")
    page.locator("[data-name='decoder.1.1']").click()
    after = rounded.trace(SENTENCE, interventions=(Zero.of(first), Zero("decoder", 0, 0)))
    expect(page.locator("[data-view=heads] .translations")).to_contain_text(after.target_text)
    page.keyboard.press("Escape")
    expect(pressed).to_have_count(0)
    assert page.url.endswith("off=none")


def test_the_whole_pass_stands_at_its_stations_and_leads_to_a_head(page_of_file, trace):
    page = page_of_file
    show(page, "pass", text=SENTENCE, moment="6")
    station = page.locator(".whole_pass .place")
    expect(station).to_have_text("Encoder layer 2 of 3: attention")
    page.get_by_role("button", name="Embeddings with positions").focus()
    page.keyboard.press("ArrowRight")
    expect(station).to_have_text("Encoder layer 2 of 3: feed-forward")
    page.wait_for_url("**moment=7")
    page.keyboard.press("Enter")
    expect(page.locator(".live_status")).to_have_text("This part is explained in the app alone.")
    page.keyboard.press("ArrowLeft")
    page.get_by_role("button", name="Encoder layer 2, self-attention, head 3 of 8").click()
    expect(page.locator("[data-view=inside] [name=head]")).to_have_value("3")
    page.go_back()
    page.locator(".whole_pass .last").click()
    expect(page.locator(".whole_pass .sentence")).to_contain_text(f"for each of {len(trace.target_ids)} tokens")


@pytest.mark.parametrize("kind", list(AttentionKind))
def test_inside_a_head_every_number_is_the_models(page_of_file, rounded, trace, kind):
    page = page_of_file
    show(page, "inside", text=SENTENCE, head=f"{kind}.2.3", query="3", key="2", at_step="all")
    stages = record_stages(rounded.model, trace.source_ids, trace.decoder_input_ids, kind, 1)
    numbers = {"softmax": stages.weights[0, 2, 2, 1], "products": stages.products[0, 2, 2, 1]}
    rows = {"input": stages.residual, "residual": stages.total, "norm_last": stages.result}
    for step, value in (numbers | {name: matrix[0, 2, 64] for name, matrix in rows.items()}).items():
        sums = page.locator(f"li.step.{step} .hand")
        sums.scroll_into_view_if_needed()
        expect(sums).to_contain_text("The model has")
        shown = re.search(r"The model has (\S+?)[.,]?(?:\s|$)", sums.inner_text())[1]
        assert float(shown.replace("−", "-").rstrip(".,")) == pytest.approx(value, abs=2e-4), step


def test_the_replay_shows_its_training(page_of_file):
    page, whole = page_of_file, find_replay(CHECKPOINTS / NAME)
    show(page, "training")
    view = page.locator("[data-view=training]")
    source = view.locator("dd.source").inner_text()
    (trajectory,) = [each for each in whole.trajectories if each.source_text == source]
    replay, _ = reduced(whole, trajectory)
    show(page, "training", head="cross.2.4", snapshot=str(replay.steps[-1]))
    cells = [float(cell) for cell in view.locator(".map td[id]").all_inner_texts()]
    np.testing.assert_allclose(cells, 100 * trajectory.cross[-1, 1, 3].ravel(), atol=0.75)


def test_invalid_texts_get_a_message_and_hostile_ones_stay_text(page_of_file):
    page = page_of_file
    field, status = page.locator("#live_text"), page.locator(".live_status")
    for text in (" \t ", "many words " * 200, "x" * 100_000):
        field.fill(text)
        expect(status).not_to_be_empty()
        expect(translation(page)).to_be_empty()
    field.fill(EVIL)
    expect(status).to_be_empty()
    field.fill("Ich liebe meine Lehrerin.")
    expect(page.locator(".live_language")).to_contain_text("German")
    field.fill(EVIL)
    expect(page.locator(".live_language")).to_be_empty()
    for view in VIEWS:
        page.locator(f"[data-tab={view}]").click()
        expect(page.locator(f"body[data-shown={view}]")).to_be_attached()
    assert page.locator("img").count() == 0 and page.evaluate("window.hurt") is None


def test_other_scripts_can_build_on_it(page_of_file, trace):
    text, shape, count, begins, tokens = page_of_file.evaluate(
        """async text => {
        await headlight.ready;
        const trace = await headlight.trace(text, { off: ["cross.3.5"], hidden: [1] });
        const begun = await headlight.trace(text, { prefix: [trace.targetIds[0]] });
        return [await headlight.translate(text), trace.cross.shape, trace.cross.weights.length,
            begun.targetIds[0] === trace.targetIds[0], trace.sourceTokens];
    }""",
        SENTENCE,
    )
    assert text == trace.target_text and tokens == list(trace.source_tokens) and begins
    assert shape[:2] == list(trace.cross.shape[:2]) and count == np.prod(shape)


def test_it_computes_without_worker_and_webassembly_where_a_policy_forbids_them(browser, file, trace, tmp_path):
    stricter = file.replace(" 'wasm-unsafe-eval'", "", 1).replace("worker-src blob:", "worker-src 'none'", 1)
    (tmp_path / "strict.html").write_text(stricter, encoding="utf-8")
    context = new_visitor(browser, offline=True)
    page = context.new_page()
    page.goto((tmp_path / "strict.html").as_uri())
    expect(translation(page)).to_have_text(trace.target_text)
    assert page.evaluate("headlight.where") == {"kernel": "plain JavaScript", "where": "page"}
    context.close()


def test_every_view_is_accessible_and_reached_by_keys(files, file):
    page = files(file, "dark", 390)
    expect(translation(page)).not_to_be_empty()
    page.locator("#live_text").focus()
    for view in VIEWS:
        page.locator(f"[data-tab={view}]").press("Enter")
        expect(page.locator(f"body[data-shown={view}]")).to_be_attached()
        expect_accessible(page)


def test_a_checkpoint_with_norms_before_its_layers_lives_too(files):
    checkpoint = load_checkpoint(CHECKPOINTS / "reverse")
    page = files(live_file(checkpoint, "reverse"))
    expect(translation(page)).not_to_be_empty()
    round_weights(checkpoint.model)
    expected = Translator(checkpoint).trace(page.locator("#live_text").input_value())
    expect(translation(page)).to_have_text(expected.target_text)
    assert page.locator("[data-tab=training]").count() == 0, "without a replay"


def test_the_app_gives_its_model_away(page, address, files, rounded, tmp_path):
    page.goto(f"{address}/?text={quote(OTHER)}")
    button = page.get_by_role("button", name="Save to use offline")
    expect(button).to_be_visible()
    wait_until_idle(page)
    with page.expect_download() as saving:
        button.click()
    saving.value.save_as(tmp_path / "saved.html")
    alone = files((tmp_path / "saved.html").read_text(encoding="utf-8"))
    expect(translation(alone)).to_have_text(rounded.trace(OTHER).target_text)


def answer_of(page: Page, lesson: dict, number: int) -> dict:
    """Return the exported answer of a step, from 1, for the sentence in the field."""
    answers = lesson["steps"][number - 1]["answers"]
    return answers.get(page.locator("#live_text").input_value()) or next(iter(answers.values()))


def expect_at(page: Page, lesson: dict, number: int) -> None:
    expect(page.locator(".lesson .title")).to_have_text(lesson["title"])
    expect(page.locator(".lesson .place")).to_have_text(f"{number} of {len(lesson['steps'])}")


def choose(page: Page, answer: dict, *, right: bool) -> None:
    """Answer a step rightly, or choose one wrong option."""
    solution, options = answer["feedback"], page.locator(".lesson .options button")
    names = [name for name, _ in answer["panel"]["options"]]
    if answer["panel"]["kind"] == "number":
        page.get_by_label("Your number").fill(str(round(solution["value"], 4)))
    for name in solution["right"] if right else [next(each for each in names if each not in solution["right"])]:
        options.nth(names.index(name)).click()
    if answer["panel"]["kind"] != "one":
        page.get_by_role("button", name="Check").click()


def test_the_quiz_is_offered_before_the_lessons_and_stays_in_the_browser(page_of_file):
    page, texts = page_of_file, bank()["alone"]
    page.locator("[data-tab=lessons]").click()
    page.get_by_role("button", name=texts["before"]).click()
    for _ in range(PER_FORM):
        page.locator(".quiz .options button").first.click()
    expect(page.get_by_role("button", name=texts["save"])).to_be_visible()
    page.evaluate("localStorage.removeItem('headlight-quiz')")


def test_a_lesson_is_walked_through_to_its_end_for_its_own_sentence(page_of_file, exported):
    page, (lesson,) = page_of_file, exported["lessons"]
    page.locator("[data-tab=lessons]").click()
    page.get_by_role("button", name=f"Begin: {lesson['title']}").click()
    expect_at(page, lesson, 1)
    page.locator("#live_text").fill(OTHER)
    page.get_by_role("button", name="Take a sentence that decides it").click()
    expect(page.locator(".lesson .options button").first).to_be_visible()
    feedback, steps = page.locator(".lesson .feedback"), lesson["steps"]
    choose(page, answer_of(page, lesson, 1), right=False)
    expect(feedback).not_to_be_empty()
    page.locator(".lesson .hint").click()
    expect(page.locator(".lesson .hints li")).to_have_text(answer_of(page, lesson, 1)["feedback"]["hints"][0])
    for number, step in enumerate(steps, start=1):
        expect_at(page, lesson, number)
        answer, lines = answer_of(page, lesson, number), page.locator("[data-view=home] .component")
        covered, veiled = ("lines" in step[each] for each in ("cover", "veil"))
        if answer["at"]["view"] == "home":
            expect(lines).to_have_css("--answers", "hidden" if covered or veiled else "")
        if step["judged"]:
            choose(page, answer, right=True)
            expect(feedback).to_contain_text(answer["feedback"]["truth"])
            expect(page.locator(f"[data-view={answer['shown']['view']}]")).to_be_visible()
            for name, value in answer["shown"]["values"].items():
                expect(page).to_have_url(re.compile(rf"{name}={re.escape(value)}(&|$)"))
        if answer["at"]["view"] == "home":
            expect(lines).to_have_css("--answers", "hidden" if covered else "")
        page.locator(".lesson .next").click()
    judged = sum(step["judged"] for step in steps)
    expect(feedback).to_have_text(f"All {judged} right!")
    page.reload()
    expect(feedback).to_have_text(f"All {judged} right!")
    for name in ("nonsense.2", "constructor.1", "<b>.1"):
        show(page, "home", lesson=name)
        expect(page.locator(".lesson_side")).to_be_hidden()


SHOWN = "return document.body.dataset.shown === arguments[0]"
PANEL = "const panel = document.querySelector('.lesson_side .component').shadowRoot.querySelector('.lesson'); "


def in_component(view: str, script: str) -> str:
    """Return a script that has the tree of a view's component as `component`."""
    return f"const component = document.querySelector('[data-view={view}] .component').shadowRoot; {script}"


def test_every_view_and_a_question_of_a_lesson_in_firefox(tmp_path, file, exported, rounded, trace):
    written, profile = "return document.querySelector('#live_translation').textContent", tmp_path / "profile"
    (tmp_path / "live.html").write_text(file, encoding="utf-8")
    profile.mkdir()
    with firefox(profile) as window:
        window.open(tmp_path / "live.html")
        assert window.wait_for(written) == trace.target_text
        assert window.evaluate("return headlight.where") == {"kernel": "WebAssembly SIMD", "where": "worker"}
        window.type("#live_text", OTHER)
        other = rounded.trace(OTHER)
        window.wait_for(f"{written} === arguments[0]", other.target_text)

        word = word_ranges(other.source_tokens)[1]
        window.wait_for(in_component("home", "return component.querySelectorAll('.source button').length > 4"))
        window.evaluate(in_component("home", f"component.querySelectorAll('.source button')[{word.start}].click()"))
        after = rounded.trace(OTHER, interventions=hide(list(word)))
        tokens = "return component.querySelectorAll('.output .token').length === arguments[0]"
        window.wait_for(in_component("home", tokens), len(after.target_tokens))
        for view in VIEWS[1:]:
            window.evaluate("document.querySelector(`[data-tab=${arguments[0]}]`).click()", view)
            window.wait_for(SHOWN, view)
        requests = "return performance.getEntriesByType('resource').map(each => each.name)"
        assert [url for url in window.evaluate(requests) if not url.startswith("blob:")] == []

        answer = next(iter(exported["lessons"][0]["steps"][0]["answers"].values()))
        names = [name for name, _ in answer["panel"]["options"]]
        window.evaluate("document.querySelector('.lesson_card button').click()")
        count = "return panel.querySelectorAll('.options button').length === arguments[0]"
        window.wait_for(PANEL + count, len(names))
        choice = PANEL + "panel.querySelectorAll('.options button')[arguments[0]].click()"
        window.evaluate(choice, names.index(answer["feedback"]["right"][0]))
        window.wait_for(PANEL + "return panel.querySelector('.options .right') !== null")
