"""`headlight align`: its output, its files and its refusals."""

import json
import re
import shutil

import pandas
import pytest
from support.tiny import make_pairs, tiny_gold, write_gold, write_pairs

from transformer import Translator
from transformer.__main__ import main
from transformer.checkpoint import weights_digest
from transformer.corpus.alignment.table import load_alignment

pytestmark = pytest.mark.usefixtures("command_line")


@pytest.fixture
def gold(tmp_path):
    return write_gold(tmp_path / "tiny", tiny_gold(9, 4))


def align(folder, *more: object) -> int:
    return main(["align", "--checkpoint", str(folder), *map(str, more)])


def test_error_rates_are_printed_and_written(checkpoint_folder, gold, tmp_path, capsys):
    out = tmp_path / "alignment.json"
    assert align(checkpoint_folder, "--gold", gold, "--seed", 3, "--out", out) == 0
    table = load_alignment(out, Translator.load(checkpoint_folder, "cpu").model)
    assert (table.gold, table.sentences, table.weights) == ("tiny", 9, weights_digest(checkpoint_folder))
    printed = capsys.readouterr().out.splitlines()
    rows = {line[:36].strip(): line[36:].split() for line in printed[4 : 4 + len(table.aligners)]}
    for aligner, rates, errors in zip(table.aligners, table.rates, table.errors[2], strict=True):
        numbers = [float(each) for each in rows[str(aligner)] if each != "±"]
        expected = [100 * each[at] for at in ((0, 0), (1, 0), (0, 1), (1, 1)) for each in (rates, errors)]
        assert numbers == pytest.approx(expected, abs=0.051)
    for line, each in zip(printed[-8:], table.chosen_heads(), strict=True):
        marks, half = "with" if each.punctuation else "without", ("odd", "even")[each.half]
        assert line.startswith(f"{marks} punctuation, {each.reading} token, {half} sentences  ")
        assert f"{each.head}: {each.there:.1%} there, {each.elsewhere:.1%}" in line
    other = shutil.copytree(gold, tmp_path / "swapped")  # links from 1, the target first
    links = (gold / "links.txt").read_text()
    swapped = re.sub(r"(\d+)([-p])(\d+)", lambda link: f"{int(link[3]) + 1}{link[2]}{int(link[1]) + 1}", links)
    (other / "links.txt").write_text(swapped)
    again = tmp_path / "again.json"
    assert align(checkpoint_folder, "--gold", other, "--out", again, "--one-based", "--target-first") == 0
    assert json.loads(again.read_text())["halves"] == json.loads(out.read_text())["halves"]
    for name, more in (("all.csv", []), ("each.csv", ["--by-sentence"])):
        assert align(checkpoint_folder, "--gold", gold, "--out", tmp_path / name, *more) == 0
    whole, each = (pandas.read_csv(tmp_path / name) for name in ("all.csv", "each.csv"))
    heads = whole[whole["method"] == "head"]
    assert (set(heads["layer"]), set(heads["head"])) == ({1, 2, 3}, {1, 2, 3, 4}), "counted from 1"
    assert each["links"].sum() == whole["links"].sum() and sorted(set(each["line"])) == list(range(1, 10))


def test_pairs_become_lines_of_links(trained_folder, tmp_path, capsys):
    """Pairs of the tiny language are aligned word by word; for a bad or too long line, the line is empty."""
    which, pairs = ["--head", "1.2", "--reading", "output"], write_pairs(tmp_path / "pairs.tsv", make_pairs(4, 5))
    assert align(trained_folder, "big dog.", "old red cat.", *which) == 0
    texts, translator = ["big dog.", "old red cat."], Translator.load(trained_folder, "cpu")
    expected = [f"{source}\t{target}" for source, target in zip(texts, translator.translate(texts), strict=True)]
    assert [line.rpartition("\t")[0] for line in capsys.readouterr().out.splitlines()] == expected
    assert align(trained_folder, "--pairs", pairs, *which) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and all(lines)
    assert align(trained_folder, "--pairs", pairs, "--one-based", *which) == 0
    shifted = capsys.readouterr().out.splitlines()
    for line, from_one in zip(lines, shifted, strict=True):
        links = [tuple(map(int, link.split("-"))) for link in line.split()]
        assert from_one.split() == [f"{i + 1}-{j + 1}" for i, j in links]
    text = pairs.read_text().splitlines()
    pairs.write_text("\n".join(["no pair", text[0], "red " * 60 + "\trot", text[1], "nor this"]) + "\n")
    assert align(trained_folder, "--pairs", pairs, *which) == 1
    printed = capsys.readouterr()
    assert printed.out.split("\n") == ["", lines[0], "", lines[1], "", ""]
    assert "line 3: The source has" in printed.err


def test_the_best_head_that_was_measured_is_the_default(checkpoint_folder, gold, tmp_path, capsys):
    pairs = write_pairs(tmp_path / "own.tsv", make_pairs(3, 5))
    assert align(checkpoint_folder, "--pairs", pairs) == 1
    assert "was not measured for this checkpoint: give --head LAYER.HEAD and --reading" in capsys.readouterr().err
    assert align(checkpoint_folder, "--gold", gold, "--out", checkpoint_folder / "alignment.json") == 0
    table = load_alignment(checkpoint_folder / "alignment.json", Translator.load(checkpoint_folder, "cpu").model)
    head, reading = table.best_head()
    which = f"{head.layer + 1}.{head.head + 1}"
    capsys.readouterr()
    printed = []
    for more in ([], ["--head", which], ["--head", which, "--reading", reading]):
        assert align(checkpoint_folder, "--pairs", pairs, *more) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] == printed[2] != ""


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "Say what to align"),
        (["a", "--out", "x.csv"], "--out and --by-sentence go with --gold"),
        (["--gold", "GOLD", "--by-sentence"], "--by-sentence needs --out FILE.csv"),
        (["--gold", "GOLD", "--out", "none/x.csv"], "none is no folder"),
        (["--gold", "none"], "is missing: a gold set is a folder of"),
        (["red", "--head", "9.1"], "The model has no layer 9, head 1: it has 3 layers of 4 heads."),
        (["--gold", "GOLD", "--target-language", "de"], "The model has no target language 'de'"),
    ],
)
def test_bad_options_are_refused(checkpoint_folder, gold, more, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert align(checkpoint_folder, *(str(gold) if each == "GOLD" else each for each in more)) == 1
    *_, last = capsys.readouterr().err.splitlines()
    assert message in last and last.startswith("headlight: ")


@pytest.mark.parametrize("head", ["1", "0.1", "1.2.3", "99999.1", "١.1"])
def test_a_head_is_a_layer_and_a_head(checkpoint_folder, head):
    with pytest.raises(SystemExit):
        align(checkpoint_folder, "red", f"--head={head}")
