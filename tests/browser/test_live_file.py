"""The live model in one file: opened from a disk without a network, it translates and shows what Python computes."""

import re
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import expect
from support.browser import expect_accessible, show, wait_until_idle
from support.chromium import new_visitor
from support.traces import CHECKPOINTS, rounded_translator

from headlight.plots.tokens import chip_text, shown_token
from headlight.views.live.content import live_file
from headlight.views.live.replay import find_replay
from transformer import Translator
from transformer.checkpoint import load_checkpoint
from transformer.corpus.head_roles import ROLES_FILE, load_roles
from transformer.exchange.int8 import pack, round_weights
from transformer.interpret.attention_block import record_stages
from transformer.interpret.head_patterns import word_ranges
from transformer.interpret.trace import Trace
from transformer.interpret.what_if.hiding import hide, translate_without_each
from transformer.interpret.what_if.importance import head_importance
from transformer.interpret.what_if.intervention import Zero
from transformer.model.names import AttentionKind

NAME = "en-de"
SENTENCE = "He bought a ticket at the train station."
EVIL = "</script><img src=x onerror=window.hurt=1><!--<script>"
VIEWS = ("home", "attention", "decoding", "heads", "inside", "training")


@pytest.fixture(scope="module")
def file() -> str:
    """The page of the checkpoint that the app opens with."""
    checkpoint = load_checkpoint(CHECKPOINTS / NAME)
    roles = load_roles(CHECKPOINTS / NAME / ROLES_FILE, checkpoint.model)
    return live_file(checkpoint, NAME, roles, SENTENCE, find_replay(CHECKPOINTS / NAME))


@pytest.fixture(scope="module")
def rounded() -> Translator:
    """The same model in PyTorch, with the weights that the page has."""
    return rounded_translator(NAME)


@pytest.fixture(scope="module")
def trace(rounded) -> Trace:
    return rounded.trace(SENTENCE)


def test_it_is_small_and_lets_nothing_in_or_out(file):
    weights = re.search(r'id="live_weights">([^<]*)', file)[1]
    assert len(file.encode()) <= 12_500_000
    assert len(file.encode()) - len(weights) <= 700_000
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', file)[1]
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert allowed.pop("default-src") == "'none'"
    assert re.fullmatch(r"'sha256-\S+' 'wasm-unsafe-eval'", allowed.pop("script-src"))
    assert re.fullmatch(r"'sha256-\S+'", allowed.pop("style-src"))
    data = {"img-src": "data:", "font-src": "data:"}
    assert allowed == {"worker-src": "blob:", **data, "base-uri": "'none'", "form-action": "'none'"}


def test_home_translates_as_one_types_and_hides_words(live, rounded, trace):
    page = live()
    expect(page.locator("#live_translation")).to_have_text(trace.target_text)
    other = rounded.trace("She reads a book.")
    page.locator("#live_text").fill("")
    page.locator("#live_text").press_sequentially("She reads a book.")
    expect(page.locator("#live_translation")).to_have_text(other.target_text)
    expect(page.locator(".row.output .token")).to_have_count(len(other.target_tokens))
    assert page.url.endswith("#home?text=She+reads+a+book.")

    words = word_ranges(other.source_tokens)
    page.locator(".row.source button").nth(words[1].start).click()
    after = rounded.trace("She reads a book.", interventions=hide(list(words[1])))
    expect(page.locator(".row.output .token")).to_have_text(list(map(chip_text, after.target_tokens)))
    without = translate_without_each(rounded.model, other.source_ids, words)
    harmless = sum(each.ids == other.target_ids for each in without)
    spare = "alone would change nothing." if harmless else "Here every word matters."
    expect(page.locator(".headline")).to_contain_text("Without “reads”, ")
    expect(page.locator(".headline")).to_contain_text(spare)
    assert page.url.endswith("&hidden=2")
    page.go_back()
    expect(page.locator(".headline")).to_contain_text("Click a word")
    page.go_forward()
    expect(page.locator(".row.source .hidden")).to_have_count(len(words[1]))
    page.get_by_role("button", name="Show all words").click()
    expect(page.locator(".row.source .hidden")).to_have_count(0)


def test_a_card_of_the_home_gives_its_sentence(live, rounded):
    page = live()
    button = page.locator(".card button").first
    sentence = button.get_attribute("title")
    button.click()
    expect(page.locator("#live_text")).to_have_value(sentence)
    expect(page.locator("#live_translation")).to_have_text(rounded.trace(sentence).target_text)


def test_attention_has_every_weight_of_all_heads(live, trace):
    page = live()
    show(page, "attention", head="decoder.2.3", query="3")
    expect(page.locator(".heads_name")).to_have_text("Masked decoder self-attention: layer 2, head 3")
    page.locator("details.weights summary").click()
    cells, count = page.locator("details.weights td"), len(trace.target_ids)
    expect(cells).to_have_count(
        count * (count + 1)
    )  # each row ends with its entropy; the table is filled once it is open
    weights = [float(cell) for cell in cells.all_inner_texts() if re.fullmatch(r"\d\.\d{4}", cell)]
    queries, keys = np.tril_indices(count)
    np.testing.assert_allclose(weights, trace.decoder[1, 2][queries, keys], atol=1.1e-4)
    page.get_by_role("button", name="cross", exact=True).click()
    expect(page.locator(".heads_name")).to_have_text("Cross-attention: layer 2, head 3")
    page.wait_for_url(re.compile(r"#attention\?.*head=cross\.2\.3"))


def test_decoding_goes_on_from_a_token_that_is_forced(live, rounded, trace):
    page = live()
    show(page, "decoding", step="2")
    expect(page.locator(".place")).to_contain_text(f"Step 2 of {len(trace.target_ids)}")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(10)
    shown = [float(text.removesuffix(" %")) for text in page.locator("tbody .bar span").all_inner_texts()[1:3]]
    np.testing.assert_allclose(shown, 100 * trace.candidate_probabilities[1, 1:3], atol=0.06)
    other = int(trace.candidate_ids[1, 1])
    rows.nth(1).locator("button").click()
    forced = rounded.trace(SENTENCE, prefix=(trace.target_ids[0], other))
    expect(page.locator(".branch .now")).to_have_text(forced.target_text)
    expect(page.locator(".branch .own")).to_have_text(trace.target_text)
    expect(page.locator(".place")).to_contain_text(f"Step 2 of {len(forced.target_ids)}")
    expect(page.locator("tr.taken.forced button")).to_have_text(shown_token(forced.target_tokens[1]))
    page.get_by_role("button", name="Back to the model's own choice").click()
    expect(page.locator(".branch")).to_be_hidden()
    page.get_by_role("button", name="One step forward").click()
    expect(page.locator(".place")).to_contain_text("Step 3 of")


def test_an_address_that_forces_what_cannot_begin_a_translation_is_put_right(live, trace):
    page = live()
    for prefix in ("999999", "x", "0.0", "2.2"):
        show(page, "decoding", prefix=prefix)
        expect(page.locator(".place")).to_contain_text(f"Step 1 of {len(trace.target_ids)}")
        expect(page.locator(".branch")).to_be_hidden()
        assert "prefix" not in page.url


def loss_of(words: str) -> float:
    """Return the nats of log P that a cell of the heads names as lost without its head."""
    moved = re.search(r"the translation is ([\d.]+) times (less|more) likely", words)
    if not moved:
        assert "about as likely as before" in words
        return 0.0
    return np.log(float(moved[1])) if moved[2] == "less" else -np.log(float(moved[1]))


def test_heads_go_off_with_what_is_lost_without_them(live, rounded, trace):
    page = live()
    show(page, "heads")
    importance = head_importance(rounded.model, trace.source_ids, trace.target_ids)
    for kind in AttentionKind:
        cells = page.locator(f"[data-kind={kind}][data-layer='1']")
        shown = [loss_of(cells.nth(head).get_attribute("aria-label")) for head in range(8)]
        np.testing.assert_allclose(shown, importance.total(kind)[1], rtol=0.06, atol=0.05)
    first = importance.default_head()
    pressed = page.locator("td button[aria-pressed=true]")
    expect(pressed).to_have_attribute("data-name", f"{first.kind}.{first.layer + 1}.{first.head + 1}")
    page.locator("[data-name='decoder.1.1']").click()
    expect(pressed).to_have_count(2)
    after = rounded.trace(SENTENCE, interventions=(Zero.of(first), Zero("decoder", 0, 0)))
    told = page.locator("[data-view=heads] .translations")
    expect(told).to_contain_text(f"Without 2 heads: {after.target_text}")
    expect(told).to_contain_text("log P")
    page.keyboard.press("Escape")
    expect(told).to_contain_text("All heads are on.")
    expect(pressed).to_have_count(0)
    assert page.url.endswith("off=none")


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_inside_a_head_every_number_is_the_models(live, rounded, trace, kind):
    page = live()
    show(page, "inside", head=f"{kind}.2.3", query="3", key="2", at_step="all")
    stages = record_stages(rounded.model, trace.source_ids, trace.decoder_input_ids, kind, 1)
    hands = {"softmax": stages.weights[0, 2, 2, 1], "products": stages.products[0, 2, 2, 1]}
    hands |= {
        "input": stages.residual[0, 2, 64],
        "residual": stages.total[0, 2, 64],
        "norm_last": stages.result[0, 2, 64],
    }
    for step, value in hands.items():
        hand = page.locator(f"li.step.{step} .hand")
        hand.scroll_into_view_if_needed()
        expect(hand).to_contain_text("The model has")
        shown = re.search(r"The model has (\S+?)[.,]? ?(?:difference|$)", hand.inner_text())[1]
        assert float(shown.replace("−", "-").rstrip(".,")) == pytest.approx(value, abs=2e-4), step
    gap = page.locator("li.step.norm_last .gap")
    expect(gap).to_contain_text("Recomputed in float64 from X on: largest difference")
    assert re.search(r"10⁻[⁵⁶⁷⁸]", gap.inner_text()), "as close as float32 can be"
    other = {"encoder": "decoder", "decoder": "cross", "cross": "encoder"}[kind]
    page.locator("[name=kind]").select_option(other)
    page.wait_for_url(f"**head={other}.*")


def test_texts_that_cannot_be_translated_get_a_sentence_and_hostile_ones_stay_text(live):
    page = live()
    field, status = page.locator("#live_text"), page.locator(".live_status")
    for text, told in (
        ("", "The text is empty: please write a sentence."),
        (" \t ", "The text is empty: please write a sentence."),
        ("many words " * 200, "the model reads at most 127. Please shorten it."),
        ("x" * 100_000, "The text has 100,000 characters"),
    ):
        field.fill(text)
        expect(status).to_contain_text(told)
        expect(page.locator("#live_translation")).to_be_empty()
    for text in (EVIL, "\U0001f600 \U0001f469‍\U0001f680", "{{7*7}} $script &lt;b&gt;", "שלום ‮ abc", "a\u0300\ufffd"):
        field.fill(text)
        expect(status).to_be_empty()
        for view in VIEWS:
            page.locator(f"[data-tab={view}]").click()
            expect(page.locator(f"body[data-shown={view}]")).to_be_attached()
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hurt") is None


def test_others_can_build_on_it(live, trace):
    page = live()
    told = page.evaluate(
        """async text => {
        await headlight.ready;
        const trace = await headlight.trace(text, { off: ["cross.2.4"], hidden: [1] });
        const begun = await headlight.trace(text, { prefix: [trace.targetIds[0]] });
        return [await headlight.translate(text), trace.cross.shape, trace.cross.weights.length,
            begun.targetIds[0] === trace.targetIds[0], trace.sourceTokens];
    }""",
        SENTENCE,
    )
    text, shape, count, is_begun, tokens = told
    assert text == trace.target_text
    assert shape[:2] == list(trace.cross.shape[:2]) and shape[3] == trace.cross.shape[3]
    assert count == np.prod(shape) and is_begun and tokens == list(trace.source_tokens)


def test_it_computes_by_itself_where_a_policy_is_stricter(browser, file, trace, tmp_path):
    """No worker and no WebAssembly, as on a course's page: slower, and the same."""
    stricter = file.replace(" 'wasm-unsafe-eval'", "", 1).replace("worker-src blob:", "worker-src 'none'", 1)
    (tmp_path / "strict.html").write_text(stricter, encoding="utf-8")
    context = new_visitor(browser, offline=True)
    page = context.new_page()
    page.goto((tmp_path / "strict.html").as_uri())
    expect(page.locator("#live_translation")).to_have_text(trace.target_text)
    assert page.evaluate("headlight.where") == {"kernel": "plain JavaScript", "where": "page"}
    context.close()


@pytest.mark.parametrize("scheme, width", [("dark", 390), ("light", 1366)])
def test_it_shuts_no_one_out(live, scheme, width):
    page = live(scheme, width)
    for view in VIEWS:
        page.locator(f"[data-tab={view}]").click()
        expect(page.locator(f"body[data-shown={view}]")).to_be_attached()
        expect_accessible(page)


def test_by_keyboard_alone(live):
    page = live()
    page.locator("#live_text").focus()
    page.keyboard.press("Tab")
    for _ in VIEWS[1:]:
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(f"body[data-shown={VIEWS[-1]}]")).to_be_attached()
    expect(page.locator("[aria-current=page]")).to_have_text(VIEWS[-1].capitalize())


@pytest.mark.parametrize("name", ["en-fr", "reverse"])
def test_the_other_checkpoints_live_too(open_alone, name):
    checkpoint = load_checkpoint(CHECKPOINTS / name)
    page = open_alone(live_file(checkpoint, name))
    round_weights(checkpoint.model)
    expect(page.locator("#live_translation")).not_to_be_empty()
    source = page.locator("#live_text").input_value()
    expect(page.locator("#live_translation")).to_have_text(Translator(checkpoint).trace(source).target_text)
    assert len(pack(checkpoint)[1]) < 9_000_000


def test_the_app_gives_its_model_away(page, address, open_alone, rounded, tmp_path):
    page.goto(f"{address}/?text={quote('She reads a book.')}")
    button = page.get_by_role("button", name=re.compile(r"Take the model with you \(1\d MB\)"))
    expect(button).to_be_visible()
    wait_until_idle(page)
    with page.expect_download() as saving:
        button.click()
    assert saving.value.suggested_filename == f"headlight-{NAME}.html"
    saving.value.save_as(tmp_path / "saved.html")
    alone = open_alone((tmp_path / "saved.html").read_text(encoding="utf-8"))
    expect(alone.locator("#live_translation")).to_have_text(rounded.trace("She reads a book.").target_text)
