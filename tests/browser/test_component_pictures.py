"""Downloads of figures that Plotly does not draw: picture, numbers, and the vector graphic of the explorer.

The page is dark and the sentence hostile: pictures are light, and tokens are text in every file.
"""

import csv
import io
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from support.browser import follow, wait_until_idle
from support.captions import as_percent
from support.traces import replayed

from transformer import Beam, Trace
from transformer.decoding.beam import Outcome, search_tree
from transformer.interpret.what_if.importance import head_importance
from transformer.interpret.what_if.intervention import Uniform
from transformer.training.replay import REPLAY_FILE, load_replay

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "He said =1 <b>cat</b>."  # what the tokenizer does not know is “<unk>”, and its answer has “-” as tokens
LAYER, HEAD, STEP = 2, 4, 3
INK, STRONGEST_IN_THE_DARK = "rgb(47, 45, 43)", "rgb(158, 202, 255)"
MENU = ".menu:popover-open"
SIDES = ("x", "width"), ("y", "height")
FOCUSED = """() => {
    let found = document.activeElement;
    while (found.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
    return found.ariaLabel ?? "";
}"""
COLOURS = """async text => {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    const picture = await createImageBitmap(new Blob([bytes])), { width, height } = picture;
    const canvas = new OffscreenCanvas(width, height), pen = canvas.getContext("2d");
    pen.drawImage(picture, 0, 0);
    const pixels = new Uint32Array(pen.getImageData(0, 0, width, height).data.buffer), [corner] = pixels;
    return { width, height, corner, paper: pixels.filter(each => each === corner).length, all: new Set(pixels).size };
}"""


@pytest.fixture(scope="module")
def visited(windows, address) -> Iterator[Callable[[str], Page]]:
    """A function to an address of the app with the hostile sentence, in one window; no script may fail in it."""
    page, errors = windows("component pictures", width=1366, height=768, scheme="dark"), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{address}/decoding")
    expect(page.locator(".place")).to_be_visible()

    def visit(path: str) -> Page:
        follow(page, f"{path}{'&' if '?' in path else '?'}text={quote(EVIL)}&head=cross.{LAYER + 1}.{HEAD + 1}")
        return page

    yield visit
    page.goto("about:blank")
    assert not errors


@pytest.fixture
def take(tmp_path) -> Callable[[Page, str, str], dict[str, Path]]:
    """A function that opens the menu of the figure with this button and takes these files, each by its kind."""

    def take(page: Page, button: str, kinds: str) -> dict[str, Path]:
        page.locator(button).click()
        offered = [
            each for each in ("png", "svg", "csv", "npz") if page.locator(f"{MENU} [data-take={each}]").is_visible()
        ]
        assert offered == kinds.split()
        taken = {}
        for kind in kinds.split():
            with page.expect_download() as saving:
                page.locator(f"{MENU} [data-take={kind}]").click()
            taken[kind] = tmp_path / saving.value.suggested_filename
            saving.value.save_as(taken[kind])
            expect(page.locator(f"{MENU} .status")).to_have_text(f"{taken[kind].name} is saved.")
        return taken

    return take


def colours_of(page: Page, taken: dict[str, Path]) -> dict[str, int]:
    """Size and colours of the PNG, which is light although the page is dark; the menu is closed."""
    read: dict[str, int] = page.evaluate(COLOURS, b64encode(taken["png"].read_bytes()).decode())
    assert read["corner"] == 0xFFFFFFFF, "white paper"
    page.keyboard.press("Escape")
    expect(page.locator(MENU)).to_have_count(0)
    assert page.evaluate(FOCUSED).startswith("Download: "), "the button has the keys again"
    return read


def is_drawn(page: Page, taken: dict[str, Path], shown: str) -> None:
    """Hold the PNG against the elements that it shows: their size, paper between them, and a colour per weight."""
    boxes = [box for each in page.locator(shown).all() if (box := each.bounding_box())]
    wide, high = (max(box[end] + box[size] for box in boxes) - min(box[end] for box in boxes) for end, size in SIDES)
    read = colours_of(page, taken)
    assert read["width"] >= 2 * wide and read["height"] >= 2 * high
    assert read["paper"] > 0.2 * read["width"] * read["height"] and read["all"] > 50


def picture_of(page: Page, taken: dict[str, Path]) -> ElementTree.Element:
    """The vector graphic, after looking whether it is light and text alone, and the PNG twice as large as it."""
    written, picture = taken["svg"].read_text(encoding="utf-8"), ElementTree.parse(taken["svg"]).getroot()
    tags = {each.tag.removeprefix(SVG) for each in picture.iter()}
    assert tags <= {"svg", "title", "desc", "style", "g", "rect", "path", "text"}
    assert picture.find(f"{SVG}desc").text == page.locator(f"{MENU} .caption").inner_text()
    assert picture.get("font-family").startswith('"Source Sans", "Source Sans 3", ') and "@font-face" in written
    assert picture.get("fill") == INK and STRONGEST_IN_THE_DARK not in written
    read = colours_of(page, taken)
    assert [read["width"], read["height"]] == [round(2 * float(picture.get(side))) for side in ("width", "height")]
    return picture


def rows_of(taken: dict[str, Path]) -> list[dict[str, str]]:
    """The rows of the CSV; a token with an apostrophe before it is as it was."""
    found = list(csv.DictReader(io.StringIO(taken["csv"].read_text(encoding="utf-8"), newline="")))
    for row in found:
        for cell in row.values():
            assert not re.match(r"[=+@\t\r]|-(?![\d.]|Infinity)", cell), f"{cell} is a formula"
    return [{name: re.sub("^'(?=[=+@-])", "", cell) for name, cell in row.items()} for row in found]


def groups(picture: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    """The groups of a class: what an element of that class, or a canvas, shows."""
    return [each for each in picture.iter(f"{SVG}g") if name in each.get("class", "").split()]


def opacities(cells: ElementTree.Element, shape: tuple[int, int]) -> np.ndarray:
    """How opaque each cell is, NaN where it is blank: those of one colour are one path."""
    opaque = np.full(shape, np.nan)
    for path in cells.iter(f"{SVG}path"):
        for x, y, wide in re.findall(r"M(\d+) (\d+)h(\d+)v1h", path.get("d")):
            opaque[int(y), int(x) : int(x) + int(wide)] = float(path.get("fill-opacity"))
    return opaque


def shade(weights: np.ndarray) -> np.ndarray:
    """How opaque the colour of a weight is."""
    return np.interp(weights, [0, 0.5, 1], [0.03, 0.72, 1])


def texts(shapes: list[ElementTree.Element]) -> list[str]:
    return ["".join(each.itertext()) for each in shapes]


def step_names(trace: Trace) -> tuple[str, ...]:
    """What the rows of decoder steps are called, to the letter: "▁liebe → ▁meinen"."""
    return tuple(map(" → ".join, zip(trace.decoder_input_tokens, trace.target_tokens, strict=True)))


def last_number(text: str) -> float:
    return float(text.rsplit(" ", 1)[1].replace("\N{MINUS SIGN}", "-"))


def test_token_lines_are_as_strong_as_the_weights_and_join_their_tokens(visited, take, shipped):
    page, trace = visited("/?map=1"), replayed(shipped, EVIL)
    weights = trace.cross[LAYER, HEAD]
    button = ".token_lines .download"
    expect(page.locator(button)).to_have_attribute("aria-label", "Download: tokens joined by attention")
    taken = take(page, button, "png csv npz")
    assert taken["png"].name == "token_lines.png"
    is_drawn(page, taken, ".token_lines .stage")
    rows = rows_of(taken)
    assert len(rows) == weights.size
    for row in rows:
        at, key = int(row["row"]), int(row["column"])
        assert (row["output token"], row["source token"]) == (trace.target_tokens[at], trace.source_tokens[key])
        assert float(row["weight"]) == pytest.approx(weights[at, key], rel=1e-5)
        assert float(row["probability"]) == pytest.approx(trace.target_probabilities[at], rel=1e-5)
    with np.load(taken["npz"], allow_pickle=False) as read:
        np.testing.assert_array_equal(read["values"].astype(np.float32), weights)
        assert tuple(read["rows"]) == trace.target_tokens and tuple(read["columns"]) == trace.source_tokens


def test_the_explorers_heads_are_taken_alone_and_all_together(visited, take, shipped):
    page, trace = visited("/attention"), replayed(shipped, EVIL)
    kind, named = "cross", f"Cross-attention: layer {LAYER + 1}, head {HEAD + 1}"
    expect(page.locator(".heads_name")).to_have_text(named)
    weights = trace.cross[LAYER, HEAD]
    taken = take(page, ".explorer .main .download", "png svg csv npz")
    picture = picture_of(page, taken)
    assert taken["svg"].name == "attention.svg" and picture.find(f"{SVG}title").text == named
    drawn = [text.rpartition(": ")[2] for text in texts(list(picture.iterfind(f".//{SVG}rect/{SVG}title")))]
    assert all(as_percent(text[:-1], weight) for text, weight in zip(drawn, weights.ravel(), strict=True))
    rows = rows_of(taken)
    np.testing.assert_allclose([float(row["weight"]) for row in rows], weights.ravel(), atol=1.1e-5)
    assert [row["column"] for row in rows[: len(trace.source_tokens)]] == list(map(str, range(weights.shape[1])))
    with np.load(taken["npz"], allow_pickle=False) as read:
        np.testing.assert_allclose(read["values"], weights, atol=1.1e-5)
        assert tuple(read["rows"]) == step_names(trace) and tuple(read["columns"]) == trace.source_tokens

    taken = take(page, ".explorer .overview .download", "png svg csv npz")
    picture = picture_of(page, taken)
    assert taken["svg"].name == "all_heads.svg"
    heads = trace.cross.reshape(-1, *trace.cross.shape[2:])
    for tile, weights in zip(groups(picture, "cells"), heads, strict=True):
        np.testing.assert_allclose(opacities(tile, weights.shape), shade(weights), atol=1e-3)
    frame, rows = trace.to_frame(), rows_of(taken)
    frame = frame[frame["kind"] == kind]
    assert list(rows[0]) == list(frame.columns)
    np.testing.assert_allclose([float(row["weight"]) for row in rows], frame["weight"], atol=1.1e-5)
    for column in set(frame.columns) - {"weight"}:
        assert [row[column] for row in rows] == list(map(str, frame[column])), column
    with np.load(taken["npz"], allow_pickle=False) as read:
        np.testing.assert_allclose(read[kind], trace.cross, atol=1.1e-5)
        assert tuple(read[f"{kind}_query_tokens"]) == trace.decoder_input_tokens
        assert tuple(read[f"{kind}_output_tokens"]) == trace.target_tokens
        assert tuple(read[f"{kind}_key_tokens"]) == trace.source_tokens


def test_the_diagram_has_the_boxes_that_are_shown_and_the_parameters_of_all(visited, take, shipped):
    page = visited("/inside?inside=architecture&block=decoder.1.cross_attention")
    taken = take(page, ".diagram .download", "png csv")
    assert taken["png"].name == "architecture.png"
    is_drawn(page, taken, ".diagram .box")
    layers, shown = shipped.model.config.num_decoder_layers, page.locator(".diagram .box").all()
    rows = rows_of(taken)
    assert sum(int(row["parameters"]) for row in rows) == sum(each.numel() for each in shipped.model.parameters())
    assert len(rows) == len(shown) + 4 * (shipped.model.config.num_encoder_layers - 1) + 6 * (layers - 1)


def test_a_step_of_attention_has_the_matrices_that_it_takes_and_makes(visited, take, shipped):
    page, trace = visited("/inside?at_step=softmax"), replayed(shipped, EVIL)
    weights = trace.cross[LAYER, HEAD]
    taken = take(page, "li.step:not([hidden]) .download", "png csv npz")
    assert taken["png"].name == "attention_softmax.png"
    is_drawn(page, taken, "li.step:not([hidden]) .maps")
    made, given = ([row for row in rows_of(taken) if row["matrix"] == name] for name in ("weights", "scores"))

    def as_matrix(rows: list[dict[str, str]]) -> np.ndarray:
        return np.array([float(row["value"]) for row in rows]).reshape(weights.shape)

    np.testing.assert_allclose(as_matrix(made), weights, atol=1e-5)
    powers = np.exp(as_matrix(given))
    np.testing.assert_allclose(powers / powers.sum(axis=1, keepdims=True), weights, atol=1e-5)
    assert tuple(row["token"] for row in made[:: weights.shape[1]]) == step_names(trace)
    assert tuple(row["key or dimension"] for row in made[: weights.shape[1]]) == trace.source_tokens
    with np.load(taken["npz"], allow_pickle=False) as read:
        np.testing.assert_allclose(read["values_weights"], weights, atol=1e-5)
        assert tuple(read["columns_scores"]) == trace.source_tokens


def test_a_tree_has_all_branches_of_the_search_with_what_became_of_them(visited, take, shipped):
    page = visited("/decoding?decoding_view=beam+search&decoding=beam&beam=3")
    taken = take(page, ".beam_tree .download", "png csv")
    assert taken["png"].name == "beam_tree.png"
    is_drawn(page, taken, ".beam_tree .stage")
    rows = rows_of(taken)
    branches = {branch.ids: branch for branch in search_tree(shipped.beam_search(EVIL, Beam(3)))}
    name = shipped.tokenizer.piece_text
    paths: list[tuple[str, ...]] = []
    for row in rows:
        before = paths[int(row["grew from"]) - 1] if row["grew from"] else ()
        paths.append((*before, row["token"]))
        assert int(row["step"]) == len(paths[-1])
    expected = {tuple(map(name, ids)): branch for ids, branch in branches.items()}
    assert sorted(paths) == sorted(expected)
    outcomes = {Outcome.ENDED: "ended", Outcome.FELL_OUT: "fell out"}
    for path, row in zip(paths, rows, strict=True):
        branch = expected[path]
        before = expected[path[:-1]].log_probability if len(path) > 1 else 0.0
        assert float(row["log P of all so far"]) == pytest.approx(branch.log_probability, abs=5.1e-5)
        assert float(row["probability"]) == pytest.approx(np.exp(branch.log_probability - before), abs=1e-4)
        assert row["outcome"] == outcomes.get(branch.outcome, "") and row["rank"] == str(branch.rank or "")
    best = next(branch.ids for branch in branches.values() if branch.rank == 1)
    assert [row["token"] for row in rows if row["on the way to the best"] == "yes"] == list(map(name, best))


def test_a_step_of_the_decoding_has_its_candidates_and_every_head(visited, take, shipped):
    page, trace, now = visited(f"/decoding?step={STEP}"), replayed(shipped, EVIL), STEP - 1
    expect(page.locator(".place")).to_contain_text(f"Step {STEP} of")
    taken = take(page, ".candidates .download", "png csv")
    assert taken["png"].name == f"decoding_step_{STEP}.png"
    is_drawn(page, taken, ".rows, .candidates")
    rows = rows_of(taken)
    candidates = [row for row in rows if row["what"] == "candidate"]
    assert [row["token"] for row in candidates[:10]] == list(trace.candidate_tokens[now])
    shares = np.array([float(row["weight or probability"]) for row in candidates])
    np.testing.assert_allclose(shares[:10], trace.candidate_probabilities[now], rtol=1e-5)
    assert [row["token"] for row in candidates if row["taken"] == "yes"] == [trace.target_tokens[now]]
    for what, tokens, weights in (
        ("cross-attention weight", trace.source_tokens, trace.cross[LAYER, HEAD, now]),
        ("masked self-attention weight", trace.decoder_input_tokens[:STEP], trace.decoder[LAYER, HEAD, now, :STEP]),
    ):
        read = [row for row in rows if row["what"] == what]
        assert tuple(row["token"] for row in read) == tuple(tokens)
        np.testing.assert_allclose([float(row["weight or probability"]) for row in read], weights, atol=1e-5)

    taken = take(page, ".heads .download", "png csv npz")
    is_drawn(page, taken, ".strips")
    kinds = (("cross_attention", trace.cross[:, :, now]), ("masked_self_attention", trace.decoder[:, :, now, :STEP]))
    with np.load(taken["npz"], allow_pickle=False) as read:
        for name, weights in kinds:
            np.testing.assert_allclose(read[f"values_{name}"].reshape(weights.shape), weights, atol=1e-5)
    every = np.concatenate([weights.ravel() for _, weights in kinds])
    np.testing.assert_allclose([float(row["weight"]) for row in rows_of(taken)], every, atol=1e-5)


def test_the_switches_of_all_heads_are_taken_as_what_is_lost_without_each(visited, take, shipped):
    page, trace = visited("/what_if?off=none&ablated_by=uniform"), replayed(shipped, EVIL)
    taken = take(page, ".switches .download", "png csv npz")
    assert taken["png"].name == "head_importance.png"
    is_drawn(page, taken, ".grids")
    rows = rows_of(taken)
    found = head_importance(shipped.model, trace.source_ids, trace.target_ids, Uniform, None)
    with np.load(taken["npz"], allow_pickle=False) as read:
        for kind in ("encoder", "decoder", "cross"):
            np.testing.assert_allclose(read[f"values_{kind}"], found.total(kind), atol=6e-5)
    losses = np.array([float(row["loss of log P in nats"]) for row in rows])
    every = np.concatenate([found.total(kind).ravel() for kind in ("encoder", "decoder", "cross")])
    np.testing.assert_allclose(losses, every, atol=6e-5)


def test_a_head_of_the_replay_is_taken_at_one_snapshot_and_at_all(visited, take, checkpoints):
    page = visited("/training?checkpoint=en-fr")
    replay = load_replay(checkpoints / "en-fr" / REPLAY_FILE)
    probe = replay.trajectories[0]
    maps = probe.cross[:, LAYER, HEAD]
    expect(page.locator(".place")).to_contain_text("Update 0")
    page.get_by_role("button", name="Last snapshot").click()
    expect(page.locator(".place")).to_contain_text(f"Update {replay.steps[-1]:,}")
    page.wait_for_url(f"**snapshot={replay.steps[-1]}**")
    wait_until_idle(page)
    taken = take(page, ".head .download", "png csv npz")
    assert taken["png"].name == f"training_update_{replay.steps[-1]}.png"
    is_drawn(page, taken, "table.map")
    np.testing.assert_allclose([float(row["weight"]) for row in rows_of(taken)], maps[-1].ravel(), atol=1e-5)

    taken = take(page, ".controls .download", "png csv npz")
    is_drawn(page, taken, ".strip")
    rows = rows_of(taken)
    assert sorted({int(row["update"]) for row in rows}) == replay.steps.tolist()
    np.testing.assert_allclose([float(row["weight"]) for row in rows], maps.ravel(), atol=1e-5)
