"""Files of measurements over a corpus: reading inverts writing, an atlas is of limited size, damage is refused."""

import json
from dataclasses import replace
from functools import reduce
from operator import getitem, setitem

import pytest

from transformer.checkpoint import weights_digest
from transformer.corpus.alignment.table import find_alignment, load_alignment
from transformer.corpus.atlas import atlas as file
from transformer.corpus.atlas.atlas import find_atlas, load_atlas, save_atlas, with_fewer_examples
from transformer.corpus.stored import FORMAT, encode
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
    assert encode(load_atlas(tmp_path / "atlas.json", reverse.model)) == encode(atlas)
    assert find_atlas(tmp_path / "none", reverse.model) is None


def test_a_share_has_its_standard_error(atlas):
    entry = atlas.entries()[0]
    role = file.Role(labelled=100, rows=1, eligible=1)
    share, error = replace(entry, roles={file.Pattern.SAME: role}).share("same", 400)
    assert share == 0.25 and error == pytest.approx((0.25 * 0.75 / 400) ** 0.5)
    assert replace(entry, roles={file.Pattern.SAME: role}).label(400) == ("same", 0.25)
    assert replace(entry, roles={}).label(400) is None and replace(entry, roles={}).share("same", 400) == (0, 0)


def test_a_large_atlas_has_fewer_examples_in_its_file(atlas, reverse, tmp_path, monkeypatch):
    monkeypatch.setattr(file, "MOST_BYTES", len(encode(atlas)) * 2 // 3)
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
        (
            lambda content: content.update(version=1),
            f"it has format 1 of another version .*, not {FORMAT}",
        ),
        (lambda content: content.update(sentences=0), r"`int` >= 1 - at `\$.sentences`"),
        (lambda content: content["aligners"][0].__setitem__(1, 7), "its heads are not those of the model"),
        (lambda content: content["halves"].pop(), "its numbers are not"),
        (lambda content: content["halves"][0][0][0][0].__setitem__(0, 10**6), "more hits than links"),
        (lambda content: content["halves"][0][0][0][0].__setitem__(0, 10**30), r"numbers expected - at `\$.halves`"),
        (lambda content: content["halves"][0][0][0][0].__setitem__(0, "1"), r"numbers expected - at `\$.halves`"),
        (lambda content: content["errors"][0][0][0].__setitem__(0, 1.1), "standard error not from 0 to 1"),
    ],
    "atlas.json": [
        (lambda content: content.update(version=1), "it has format 1 of another version"),
        (lambda content: content.update(sentences_measured=0), r"`int` >= 1 - at `\$.sentences_measured`"),
        (
            lambda content: content["sentences"].__setitem__(0, [[], "<s>", ["a"]]),
            r"at `\$.sentences\[0\]\[0\]`",
        ),
        (lambda content: content["heads"]["cross"].pop(), "it is near a head that is not there"),
        (lambda content: content["heads"].pop("cross"), "its heads are not those of the model"),
        (lambda content: content["provenance"]["digests"].clear(), r"1 files with 0 digests - at `\$.provenance`"),
        (of_head(["roles", "same"], [1, 2, 1]), "2 rows of 1 eligible ones"),
        (of_head(["roles", "same"], [10**6, 0, 1]), "cross.1.1: it counts more sentences than were measured"),
        (of_head(["measures", "entropy"], [float("nan"), 0]), "JSON is malformed"),
        (of_head(["measures", "entropy"], [1e300, 0]), "`float` <= 1000000.0"),
        (of_head(["greatest", 0], 10**9), "it counts more sentences than were measured"),
        (of_head(["greatest", 0], 10**99), r"at `\$.heads\[...\]\[0\]\[0\].greatest\[0\]`"),
        (of_head(["layer"], 1), "another head stands in place of cross.1.1"),
        (of_head(["borders", 0], 0.99), "its borders do not rise"),
        (of_head(["examples", 0, 0], 10**6), "an example names a sentence or a cell that is not there"),
        (of_head(["examples", 0, 4, 0], 10**6), "an example names a sentence or a cell that is not there"),
        (of_head(["examples", 0, 4, slice(0, 2)], [3, 3]), "one weight per cell"),
        (of_head(["nearest", 0, 0], 99), "it is near a head that is not there"),
    ],
}
LOAD = {"alignment.json": load_alignment, "atlas.json": load_atlas}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_is_refused_with_the_place_of_the_fault(checkpoints, name, tmp_path):
    folder, path = checkpoints / ("en-de" if name == "alignment.json" else "reverse"), tmp_path / name
    model, content = Translator.load(folder, "cpu").model, (folder / name).read_bytes()
    for damage, message in DAMAGES[name]:
        damaged = json.loads(content)
        damage(damaged)
        path.write_text(json.dumps(damaged))
        with pytest.raises(CheckpointError, match=f"{name} cannot be read: .*{message}"):
            LOAD[name](path, model)
    for deep in (b"[" * 10**5, b'{"version": %d, "halves": ' % FORMAT + b"[" * 10**5, b'{"version": 1e99}', b"{}", b""):
        path.write_bytes(deep)
        with pytest.raises(CheckpointError, match=f"{name} cannot be read"):
            LOAD[name](path, model)


@pytest.mark.parametrize("name", ["en-de", "en-fr", "reverse"])
def test_a_shipped_checkpoint_has_what_was_measured_of_its_own_weights(checkpoints, name):
    """After a training: `headlight align --checkpoint NAME --gold examples/alignment/NAME --out .../alignment.json`."""
    model = Translator.load(checkpoints / name, "cpu").model
    atlas, table = find_atlas(checkpoints / name, model), find_alignment(checkpoints / name, model)
    assert atlas.provenance.weights == weights_digest(checkpoints / name)
    assert (table is None) == (name == "reverse")
    if table:
        assert (table.gold, table.sentences, table.weights) == (name, 40, weights_digest(checkpoints / name))
        assert table.rates[: 3 * 8].min() < 0.5 < table.rates[: 3 * 8].max(), "some heads align, others do not"


def test_other_models_and_large_files_are_refused(atlas, reverse, shipped, tmp_path):
    path = tmp_path / "atlas.json"
    path.write_bytes(encode(atlas) + b" " * file.MOST_BYTES)
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_atlas(path, reverse.model)
    save_atlas(path, atlas)
    with pytest.raises(CheckpointError, match="its heads are not those"):
        load_atlas(path, shipped.model)
