"""`hl.explore` in a notebook, as a file and from the command line."""

import subprocess
import sys

import numpy as np
import pytest
from support.other_models import read_page
from support.pages import ROOT

import headlight as hl
from headlight.__main__ import main

MAPS = np.random.default_rng(1).dirichlet(np.ones(4), size=(2, 3, 4)).astype(np.float32)
TOKENS = ["I", "love", "tea", "."]


def test_a_notebook_and_a_file_have_the_same_page(tmp_path):
    shown = hl.explore(MAPS, TOKENS)
    assert 'sandbox="allow-scripts allow-downloads"' in shown._repr_html_()
    shown.save(tmp_path / "maps.html")
    assert (tmp_path / "maps.html").read_text("utf-8") == shown.page
    facts, arrays = read_page(shown.page)
    assert facts["alone"] and facts["source_tokens"] == TOKENS and facts["target_tokens"] is None
    np.testing.assert_allclose(arrays["encoder"], MAPS, atol=1.001e-5)


def test_the_page_of_a_trace_and_of_its_arrays_have_the_same_facts(shipped):
    trace = hl.Translator(shipped.checkpoint).trace("I love my teacher.")
    maps = {kind: trace.attention(kind) for kind in ("encoder", "decoder", "cross")}
    facts, arrays = read_page(hl.explore(**maps, source=trace.source_tokens, target=trace.decoder_input_tokens).page)
    ours, of_trace = read_page(trace.show().page)
    assert facts["causal"] == {"encoder": False, "decoder": True, "cross": False} and not facts["alone"]
    assert facts["id"] == ours["id"] and all((arrays[kind] == of_trace[kind]).all() for kind in maps)
    for name in ("source_tokens", "decoder_input_tokens"):
        assert facts[name] == ours[name]
    for name in ("entropy", "confidence"):
        assert facts["patterns"]["decoder"][name] == ours["patterns"]["decoder"][name]


def test_weights_above_one_and_unequal_layers_arrive():
    facts, arrays = read_page(hl.explore([300 * MAPS[0], MAPS[1][:1]], TOKENS).page)
    np.testing.assert_allclose(arrays["encoder"][0], 300 * MAPS[0], atol=0.005)
    assert facts["heads_per_layer"] == {"encoder": [3, 1]} and facts["row_sums"]["encoder"] == pytest.approx([1, 300])


@pytest.mark.parametrize(
    "wrong",
    [{}, {"attention": MAPS, "cross": MAPS}, {"attention": MAPS, "target": TOKENS}, {"cross": MAPS, "tokens": TOKENS}],
)
def test_contradicting_arguments_are_refused(wrong):
    with pytest.raises(ValueError, match="expected "):
        hl.explore(**wrong)


def test_page_writes_a_file_of_maps(capsys, tmp_path):
    np.savez(tmp_path / "maps.npz", cross=MAPS, source=TOKENS, target=["a", "b", "c", "d"])
    assert main(["page", "--attention", str(tmp_path / "maps.npz"), "--out", str(tmp_path / "maps.html")]) == 0
    facts, arrays = read_page((tmp_path / "maps.html").read_text("utf-8"))
    assert facts["decoder_input_tokens"] == ["a", "b", "c", "d"] and arrays.keys() == {"cross"}
    np.savez(tmp_path / "wrong.npz", attentions=MAPS)
    np.savez(tmp_path / "pickle.npz", attention=np.array([None]))
    (tmp_path / "text.npz").write_text("text")
    for name, message in (("wrong", "attention, encoder"), ("pickle", "pickle"), ("text", "text"), ("none", "read")):
        assert main(["page", "--attention", str(tmp_path / f"{name}.npz"), "--out", str(tmp_path / "x.html")]) == 1
        assert message in capsys.readouterr().err
    assert not (tmp_path / "x.html").exists()


def test_maps_are_explored_without_torch_streamlit_and_plotly():
    code = (
        "import sys, headlight; headlight.explore([[[[1]]]]); print(*{'torch', 'streamlit', 'plotly'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
