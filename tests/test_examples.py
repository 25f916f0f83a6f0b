"""The notebooks of examples/: they run, their stored outputs are current, and their numbers are the engine's."""

import base64
import html
import re

import nbformat
import numpy as np
import pytest
from support.source_files import ROOT

from examples.execute import FOLDER, execute, kernel

NAMES = ("attention_of_a_sentence", "decoding_step_by_step", "exercises", "first_steps", "heads_over_a_corpus")
PLOTLY = "application/vnd.plotly.v1+json"
MOST_BYTES = 400_000


@pytest.fixture(scope="module")
def executed() -> dict[str, nbformat.NotebookNode]:
    with kernel() as manager:
        return {name: execute(FOLDER / f"{name}.ipynb", manager) for name in NAMES}


def outputs(notebook: nbformat.NotebookNode, kind: str) -> list:
    """Return all outputs of one MIME type, or of "stdout", in their order."""
    results = [each for cell in notebook.cells if cell.cell_type == "code" for each in cell.outputs]
    if kind == "stdout":
        return [each.text for each in results if each.output_type == "stream" and each.name == "stdout"]
    return [each.data[kind] for each in results if kind in each.get("data", {})]


def words(notebook: nbformat.NotebookNode, kind: str) -> list[str]:
    """Return the outputs without digits, which rounding may change."""
    return [re.sub(r"\d[\d,.]*", "#", text) for text in outputs(notebook, kind)]


@pytest.mark.parametrize("name", NAMES)
def test_the_stored_outputs_are_those_of_a_new_run(name, executed):
    path = FOLDER / f"{name}.ipynb"
    stored = nbformat.read(path, as_version=4)
    nbformat.validate(stored)
    assert path.stat().st_size < MOST_BYTES and {path.stem for path in FOLDER.glob("*.ipynb")} == set(NAMES)
    counts = [[cell.get("execution_count") for cell in notebook.cells] for notebook in (stored, executed[name])]
    assert counts[0] == counts[1]
    for kind in ("text/plain", "stdout"):
        assert words(stored, kind) == words(executed[name], kind)
    assert len(outputs(stored, PLOTLY)) == len(outputs(executed[name], PLOTLY)) >= (name != "exercises")


def test_the_displayed_attention_is_the_engines(executed, shipped):
    notebook = executed["attention_of_a_sentence"]
    trace = shipped.trace("I don't love my teacher.")
    assert outputs(notebook, "text/plain")[0] == repr(trace.target_text)
    layer, head = (int(number) - 1 for number in re.findall(r"(?:layer|head) (\d+)", outputs(notebook, "stdout")[0]))
    assert trace.cross[layer, head].max(axis=-1).mean() == trace.cross.max(axis=-1).mean(axis=-1).max()
    cells = outputs(notebook, PLOTLY)[0]["data"][0]["z"]
    weights = np.frombuffer(base64.b64decode(cells["bdata"]), cells["dtype"])
    np.testing.assert_allclose(weights, trace.cross[layer, head].ravel(), atol=1e-5)
    explorer = next(html.unescape(each) for each in outputs(notebook, "text/html") if "<iframe" in each)
    assert "default-src 'none'" in explorer and f"Translation: {trace.target_text}" in explorer


def test_the_steps_and_the_losses_are_the_engines(executed, shipped):
    steps = outputs(executed["decoding_step_by_step"], "text/html")[0]
    trace = shipped.trace("The weather is very nice today.")
    shown = [float(cell) for cell in re.findall(r"<td>(0\.\d+)</td>\s*<td>\d+</td>", steps)]
    np.testing.assert_allclose(shown, trace.target_probabilities, atol=6e-4)
    lines = (ROOT / "checkpoints" / "en-de" / "samples.tsv").read_text(encoding="utf-8").splitlines()[:8]
    head, loss = shipped.head_importance([tuple(line.split("\t")) for line in lines]).ranked()[0]
    first = outputs(executed["heads_over_a_corpus"], "text/plain")[-1].splitlines()[1].split()
    assert first[1:4] == [str(head.kind), str(head.layer + 1), str(head.head + 1)]
    assert float(first[4]) == pytest.approx(loss, abs=6e-4)
