"""Files of measurements over a corpus: reading inverts writing, an atlas is of limited size, damage is refused."""

import json
from dataclasses import replace
from functools import reduce
from operator import getitem, setitem

import pytest

from transformer.checkpoint import weights_digest
from transformer.corpus.alignment.table import find_alignment, load_alignment
from transformer.corpus.atlas import atlas as file
from transformer.corpus.atlas.atlas import find_atlas, load_atlas, save_atlas, to_json, with_fewer_examples
from transformer.corpus.head_roles import load_roles
from transformer.errors import CheckpointError
from transformer.translator import Translator


@pytest.fixture(scope="module")
def reverse(checkpoints) -> Translator:
    return Translator.load(checkpoints / "reverse", "cpu")


@pytest.fixture(scope="module")
def atlas(checkpoints, reverse):
    return find_atlas(checkpoints / "reverse", reverse.model)


def test_reading_inverts_writing(atlas, reverse, tmp_path):
    save_atlas(tmp_path / "atlas.json", atlas)
    assert to_json(load_atlas(tmp_path / "atlas.json", reverse.model)) == to_json(atlas)
    assert find_atlas(tmp_path / "none", reverse.model) is None


def test_a_share_has_its_standard_error(atlas):
    entry = atlas.entries()[0]
    role = file.Role(labelled=100, rows=1, eligible=1)
    share, error = replace(entry, roles={file.Pattern.SAME: role}).share("same", 400)
    assert share == 0.25 and error == pytest.approx((0.25 * 0.75 / 400) ** 0.5)
    assert replace(entry, roles={file.Pattern.SAME: role}).label(400) == ("same", 0.25)
    assert replace(entry, roles={}).label(400) is None and replace(entry, roles={}).share("same", 400) == (0, 0)


def test_a_large_atlas_has_fewer_examples_in_its_file(atlas, reverse, tmp_path, monkeypatch):
    monkeypatch.setattr(file, "MOST_BYTES", len(to_json(atlas)) * 2 // 3)
    save_atlas(tmp_path / "atlas.json", atlas)
    smaller = load_atlas(tmp_path / "atlas.json", reverse.model)
    for before, after in zip(atlas.entries(), smaller.entries(), strict=True):
        assert 0 < len(after.examples) < len(before.examples)
        assert after.measures == before.measures
        first = after.examples[0]
        assert smaller.sentences[first.sentence] == atlas.sentences[before.examples[0].sentence]
    used = {each.sentence for entry in smaller.entries() for each in entry.examples}
    assert used == set(range(len(smaller.sentences)))
    assert not with_fewer_examples(atlas, 0).sentences
    monkeypatch.setattr(file, "MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="too large"):
        save_atlas(tmp_path / "atlas.json", atlas)


def of_head(path: list, value: object):
    """Return a change of the item at a path in the first head's entry of an atlas."""
    return lambda content: setitem(reduce(getitem, path[:-1], content["heads"]["cross"][0][0]), path[-1], value)


DAMAGES = {
    "alignment.json": [
        lambda content: content.update(version=2),
        lambda content: content.update(sentences=0),
        lambda content: content["aligners"][0].__setitem__(1, 7),
        lambda content: content["halves"].pop(),
        lambda content: content["halves"][0][0][0][0].__setitem__(0, 10**6),
        lambda content: content["errors"][0][0][0].__setitem__(0, 1.1),
    ],
    "heads.json": [
        lambda content: content.update(version=2),
        lambda content: content["rows"]["cross"][0].pop(),
        lambda content: content["rows"]["encoder"][0][0].update(previous=10**9),
        lambda content: content["labelled"]["encoder"][0][0].update(previous=401),
    ],
    "atlas.json": [
        lambda content: content.update(version=2),
        lambda content: content.update(sentences_measured=0),
        lambda content: content["sentences"].__setitem__(0, [[], "<s>", ["a"]]),
        lambda content: content["heads"]["cross"].pop(),
        of_head(["roles", "same"], [1, 2, 1]),
        of_head(["roles", "same"], [10**6, 0, 1]),
        of_head(["measures", "entropy"], [float("nan"), 0]),
        of_head(["greatest", 0], 10**9),
        of_head(["borders", 0], 0.99),
        of_head(["examples", 0, 0], 10**6),
        of_head(["examples", 0, 4, 0], 10**6),
        of_head(["examples", 0, 4, slice(0, 2)], [3, 3]),
        of_head(["nearest", 0, 0], 99),
    ],
}
LOAD = {"alignment.json": load_alignment, "heads.json": load_roles, "atlas.json": load_atlas}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_is_refused(checkpoints, name, tmp_path):
    folder, path = checkpoints / ("en-de" if name == "alignment.json" else "reverse"), tmp_path / name
    model, content = Translator.load(folder, "cpu").model, (folder / name).read_bytes()
    for damage in DAMAGES[name]:
        damaged = json.loads(content)
        damage(damaged)
        path.write_text(json.dumps(damaged))
        with pytest.raises(CheckpointError, match=f"{name} cannot be read"):
            LOAD[name](path, model)


@pytest.mark.parametrize("name", ["en-de", "en-fr", "reverse"])
def test_a_shipped_checkpoint_has_what_was_measured_of_its_own_weights(checkpoints, name):
    """After a training: `headlight align --checkpoint NAME --gold examples/alignment/NAME --out .../alignment.json`."""
    model = Translator.load(checkpoints / name, "cpu").model
    roles, table = load_roles(checkpoints / name / "heads.json", model), find_alignment(checkpoints / name, model)
    assert (roles.pairs, roles.sentences) == ("samples.tsv", 400)
    assert (table is None) == (name == "reverse")
    if table:
        assert (table.gold, table.sentences, table.weights) == (name, 40, weights_digest(checkpoints / name))
        assert table.rates[: 3 * 8].min() < 0.5 < table.rates[: 3 * 8].max(), "some heads align, others do not"


def test_other_models_and_large_files_are_refused(atlas, reverse, shipped, tmp_path):
    path = tmp_path / "atlas.json"
    path.write_bytes(to_json(atlas) + b" " * file.MOST_BYTES)
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_atlas(path, reverse.model)
    save_atlas(path, atlas)
    with pytest.raises(CheckpointError, match="its heads are not those"):
        load_atlas(path, shipped.model)
