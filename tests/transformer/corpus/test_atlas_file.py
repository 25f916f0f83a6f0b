"""File of an atlas: reading inverts writing, its size is limited, and damaged files are refused."""

import json
from dataclasses import replace

import pytest

from transformer.corpus.atlas import atlas as file
from transformer.corpus.atlas.atlas import find_atlas, load_atlas, save_atlas, to_json, with_fewer_examples
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


def entry_of(content: dict) -> dict:
    return content["heads"]["cross"][0][0]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content.update(version=2),
        lambda content: content.update(sentences_measured=0),
        lambda content: content["sentences"].__setitem__(0, [[], "<s>", ["a"]]),
        lambda content: content["heads"]["cross"].pop(),
        lambda content: entry_of(content)["roles"].update(same=[1, 2, 1]),
        lambda content: entry_of(content)["roles"].update(same=[10**6, 0, 1]),
        lambda content: entry_of(content)["measures"].update(entropy=[float("nan"), 0]),
        lambda content: entry_of(content)["greatest"].__setitem__(0, 10**9),
        lambda content: entry_of(content)["borders"].__setitem__(0, 0.99),
        lambda content: entry_of(content)["examples"][0].__setitem__(0, 10**6),
        lambda content: entry_of(content)["examples"][0][4].__setitem__(0, 10**6),
        lambda content: entry_of(content)["examples"][0][4].__setitem__(0, entry_of(content)["examples"][0][4][1]),
        lambda content: entry_of(content)["nearest"][0].__setitem__(0, 99),
    ],
)
def test_a_damaged_file_is_refused(atlas, reverse, tmp_path, damage):
    path = tmp_path / "atlas.json"
    content = json.loads(to_json(atlas))
    damage(content)
    path.write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match="atlas.json cannot be read"):
        load_atlas(path, reverse.model)


def test_other_models_and_large_files_are_refused(atlas, reverse, shipped, tmp_path):
    path = tmp_path / "atlas.json"
    path.write_bytes(to_json(atlas) + b" " * file.MOST_BYTES)
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_atlas(path, reverse.model)
    save_atlas(path, atlas)
    with pytest.raises(CheckpointError, match="its heads are not those"):
        load_atlas(path, shipped.model)
