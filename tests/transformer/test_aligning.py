"""`headlight align`: what it prints and writes, and what it refuses in a sentence."""

import json

import pandas
import pytest
from support.tiny import gold_pair, make_pairs, tiny_gold, write_gold, write_pairs

from transformer import Translator
from transformer.__main__ import main
from transformer.checkpoint import weights_digest
from transformer.corpus.alignment.aligners import aligners_of
from transformer.corpus.alignment.gold import GoldPair, GoldSet
from transformer.corpus.alignment.measure import measure_alignment
from transformer.corpus.alignment.table import load_alignment, tabulate

pytestmark = pytest.mark.usefixtures("command_line")


@pytest.fixture
def gold(tmp_path):
    return write_gold(tmp_path / "tiny", tiny_gold(9, 4))


def align(folder, *more: object) -> int:
    return main(["align", "--checkpoint", str(folder), *map(str, more)])


def test_error_rates_are_printed_and_written(checkpoint_folder, gold, tmp_path, capsys):
    out = tmp_path / "alignment.json"
    assert align(checkpoint_folder, "--gold", gold, "--seed", 3, "--out", out) == 0
    model = Translator.load(checkpoint_folder, "cpu").model
    table = load_alignment(out, model)
    assert (table.gold, table.sentences, table.weights) == ("tiny", 9, weights_digest(checkpoint_folder))
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("tiny, 9 sentences: alignment error rate in %")
    rows = {line[:36].strip(): line[36:].split() for line in printed[4 : 4 + len(table.aligners)]}
    for aligner, rates, errors in zip(table.aligners, table.rates, table.errors[2], strict=True):
        numbers = [float(each) for each in rows[str(aligner)] if each != "±"]
        told = [100 * each[place] for place in ((0, 0), (1, 0), (0, 1), (1, 1)) for each in (rates, errors)]
        assert numbers == pytest.approx(told, abs=0.051)
    assert sum("on the other" in line for line in printed) == 9, "eight choices below a heading"


def test_tables_count_from_one(checkpoint_folder, gold, tmp_path):
    for name, more in (("all.csv", []), ("each.csv", ["--by-sentence"])):
        assert align(checkpoint_folder, "--gold", gold, "--out", tmp_path / name, *more) == 0
    whole, each = (pandas.read_csv(tmp_path / name) for name in ("all.csv", "each.csv"))
    translator = Translator.load(checkpoint_folder, "cpu")
    counts = measure_alignment(translator.model, translator.tokenizer, GoldSet("tiny", tuple(tiny_gold(9, 4))))
    expected = tabulate(counts).to_frame()
    assert whole["error_rate"].tolist() == pytest.approx(expected["error_rate"].tolist())
    heads = whole["method"] == "head"
    config = translator.model.config
    assert set(whole[heads]["layer"]) == set(range(1, config.num_decoder_layers + 1))
    assert set(whole[heads]["head"]) == set(range(1, config.num_heads + 1))
    keys = ["method", "layer", "head", "reading", "punctuation"]
    summed = each.groupby(keys, dropna=False)["links"].sum()
    assert summed.sum() == whole["links"].sum() and len(each) == 9 * len(whole)
    assert sorted(set(each["line"])) == list(range(1, 10))


def test_links_are_read_as_they_are_said_to_be(checkpoint_folder, tmp_path):
    """The same gold set, once counted from 0, once from 1 with the target first."""
    pairs = [
        GoldPair(("big", "dog", "."), ("Hund", "."), frozenset({(1, 0), (2, 1)}), frozenset({(1, 0), (2, 1), (0, 0)}))
    ]
    write_gold(tmp_path / "one", pairs)
    two = write_gold(tmp_path / "two", pairs)
    (two / "links.txt").write_text("1-2 2-3 1p1\n")
    found = []
    for folder, more in ((tmp_path / "one", []), (two, ["--one-based", "--target-first"])):
        out = folder / "out.json"
        assert align(checkpoint_folder, "--gold", folder, "--out", out, *more) == 0
        found.append(json.loads(out.read_text())["halves"])
    assert found[0] == found[1]


def test_own_pairs_become_lines_of_links(trained_folder, tmp_path, capsys):
    """The tiny language goes word by word; a line that is no pair, or too long, has an empty one, and it fails."""
    gold = write_gold(tmp_path / "tiny", tiny_gold(60, 9))
    model = Translator.load(trained_folder, "cpu").model
    assert align(trained_folder, "--gold", gold, "--out", tmp_path / "alignment.json") == 0
    head, reading = load_alignment(tmp_path / "alignment.json", model).best_head()
    which = ["--head", f"{head.layer + 1}.{head.head + 1}", "--reading", reading]
    pairs = write_pairs(tmp_path / "own.tsv", make_pairs(4, 5))
    capsys.readouterr()
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
    told = capsys.readouterr()
    assert told.out.split("\n") == ["", lines[0], "", lines[1], "", ""]
    assert "line 3: The source has" in told.err


def test_own_sentences_are_translated_and_aligned(trained_folder, capsys):
    translator = Translator.load(trained_folder, "cpu")
    assert align(trained_folder, "big dog.", "old red cat.", "--head", "1.2", "--reading", "output") == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines] == [
        [text, translator.translate([text])[0]] for text in ("big dog.", "old red cat.")
    ]
    for source, target, links in lines:
        assert links
        for link in links.split():
            of_source, of_target = map(int, link.split("-"))
            assert of_source < len(source.split()) and of_target < len(target.split())


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
    ("more", "told"),
    [
        ([], "Say what to align"),
        (["a", "--gold", "x"], "Say what to align"),
        (["a", "--out", "x.csv"], "--out and --by-sentence go with --gold"),
        (["--gold", "GOLD", "--by-sentence"], "--by-sentence needs --out FILE.csv"),
        (["--gold", "GOLD", "--out", "x.txt"], "name a .csv or a .json file"),
        (["--gold", "GOLD", "--out", "none/x.csv"], "none is no folder"),
        (["--gold", "none"], "is missing: a gold set is a folder of"),
        (["red", "--head", "9.1"], "The model has no layer 9, head 1: it has 3 layers of 4 heads."),
        (["red", "--head", "1.1"], "give --reading output or --reading input"),
        (
            ["red", "--head", "1.1", "--reading", "input", "--target-language", "de"],
            "The model has no target language 'de'",
        ),
        (["--gold", "GOLD", "--target-language", "de"], "The model has no target language 'de'"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(checkpoint_folder, gold, more, told, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert align(checkpoint_folder, *(str(gold) if each == "GOLD" else each for each in more)) == 1
    *_, last = capsys.readouterr().err.splitlines()
    assert told in last and last.startswith("headlight: ")


@pytest.mark.parametrize("head", ["1", "0.1", "1.0", "a.b", "1.2.3", "-1.2", "99999.1", "١.1"])
def test_a_head_is_a_layer_and_a_head(checkpoint_folder, head, capsys):
    with pytest.raises(SystemExit):
        align(checkpoint_folder, "red", f"--head={head}")
    assert "a layer and a head, counted from 1, such as 1.5" in capsys.readouterr().err


def test_it_can_be_stopped(checkpoint_folder, gold, tmp_path, monkeypatch):
    """A Ctrl-C after the second sentence: nothing is written."""
    from transformer.commands import aligning

    def reporter(total):
        def report(done):
            if done == 2:
                raise KeyboardInterrupt

        return report

    monkeypatch.setattr(aligning, "reporter", reporter)
    out = tmp_path / "x.csv"
    assert align(checkpoint_folder, "--gold", gold, "--out", out) == 130
    assert not out.exists()


def test_a_set_without_a_pair_that_fits_is_refused(checkpoint_folder, tmp_path, capsys):
    long = gold_pair("red " * 95 + "dog.", "rot " * 95 + "Hund.")
    assert align(checkpoint_folder, "--gold", write_gold(tmp_path / "long", [long])) == 1
    assert (
        "No pair of the gold set long fits the model: 1 line: 1 longer than 20 tokens a side" in capsys.readouterr().err
    )


def test_every_aligner_is_measured(translator):
    layers, heads = len(translator.model.decoder), translator.model.config.num_heads
    assert len(aligners_of(translator.model)) == layers * heads + 3 * layers + 2
