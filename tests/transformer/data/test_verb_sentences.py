"""Sentences of a dictionary's verbs: the forms whose rule is sure, and the frames that ask for them."""

import re

import pytest

from transformer.__main__ import main
from transformer.data.pairs import read_pairs
from transformer.data.verb_sentences import (
    english_forms,
    french_forms,
    german_forms,
    make_verb_sentences,
    read_verb_frames,
    verbs_of,
)
from transformer.errors import DataError


@pytest.mark.parametrize(
    ("verb", "s", "ing", "ed"),
    [
        ("jump", "jumps", "jumping", "jumped"),
        ("stop", "stops", "stopping", "stopped"),
        ("rev", "revs", "revving", "revved"),
        ("teach", "teaches", "teaching", None),
        ("go", "goes", "going", None),
        ("overtake", "overtakes", "overtaking", None),
        ("freeze", "freezes", "freezing", None),
        ("agree", "agrees", "agreeing", "agreed"),
        ("tie", "ties", "tying", "tied"),
        ("carry", "carries", "carrying", "carried"),
        ("play", "plays", "playing", "played"),
        ("fix", "fixes", "fixing", "fixed"),
        ("adopt", "adopts", "adopting", "adopted"),
        ("indicate", "indicates", "indicating", "indicated"),
        ("clean", "cleans", "cleaning", "cleaned"),
        ("permit", "permits", None, None),
        ("equip", "equips", None, None),
        ("quit", "quits", "quitting", None),
        ("panic", "panics", "panicking", "panicked"),
        ("tattoo", "tattoos", "tattooing", "tattooed"),
        ("undo", "undoes", "undoing", None),
        ("misunderstand", "misunderstands", "misunderstanding", None),
        ("visit", "visits", None, None),
    ],
)
def test_english_verbs_have_the_forms_whose_spelling_is_sure(verb, s, ing, ed):
    expected = {"base": verb, "s": s, "ing": ing, "ed": ed}
    assert english_forms(verb) == {name: form for name, form in expected.items() if form}


@pytest.mark.parametrize(
    ("verb", "whole", "she", "done"),
    [
        ("springen", "springen", "springt", None),
        ("jagen", "jagen", "jagt", "gejagt"),
        ("arbeiten", "arbeiten", "arbeitet", "gearbeitet"),
        ("rechnen", "rechnen", "rechnet", "gerechnet"),
        ("öffnen", "öffnen", "öffnet", "geöffnet"),
        ("lernen", "lernen", "lernt", "gelernt"),
        ("filmen", "filmen", "filmt", "gefilmt"),
        ("wohnen", "wohnen", "wohnt", "gewohnt"),
        ("trainieren", "trainieren", "trainiert", "trainiert"),
        ("verkaufen", "verkaufen", "verkauft", "verkauft"),
        ("beachten", "beachten", "beachtet", "beachtet"),
        ("bellen", "bellen", "bellt", "gebellt"),
        ("beugen", "beugen", "beugt", "gebeugt"),
        ("ernten", "ernten", "erntet", "geerntet"),
        ("sammeln", "sammeln", "sammelt", "gesammelt"),
        ("ändern", "ändern", "ändert", "geändert"),
        ("betteln", "betteln", "bettelt", "gebettelt"),
        ("beurteilen", "beurteilen", "beurteilt", "beurteilt"),
        ("schmieren", "schmieren", "schmiert", "geschmiert"),
        ("knien", "knien", "kniet", "gekniet"),
        ("heiraten", "heiraten", "heiratet", "geheiratet"),
        ("verlieren", "verlieren", "verliert", None),
        ("frieren", "frieren", "friert", None),
        ("erwägen", "erwägen", "erwägt", None),
        ("misslingen", "misslingen", "misslingt", None),
        ("vergessen", "vergessen", None, None),
        ("spazieren", "spazieren", "spaziert", None),
        ("fahren", "fahren", None, None),
        ("geben", "geben", None, None),
        ("laufen", "laufen", None, None),
        ("schreiben", "schreiben", "schreibt", None),
        ("reiten", "reiten", "reitet", None),
        ("wandern", "wandern", "wandert", None),
        ("abschalten", None, None, None),
        ("kennenlernen", None, None, None),
        ("wahrnehmen", None, None, None),
        ("zurückstellen", None, None, None),
    ],
)
def test_german_verbs_have_the_forms_whose_rule_is_sure(verb, whole, she, done):
    expected = {"infinitive": verb, "noun": verb.capitalize(), "whole": whole, "she": she, "done": done}
    assert german_forms(verb) == {name: form for name, form in expected.items() if form}


@pytest.mark.parametrize(
    ("verb", "she", "they", "done"),
    [
        ("sauter", "saute", "sautent", "sauté"),
        ("manger", "mange", "mangent", "mangé"),
        ("aimer", "aime", "aiment", "aimé"),
        ("chercher", "cherche", "cherchent", "cherché"),
        ("tomber", "tombe", "tombent", None),
        ("acheter", None, None, None),
        ("régler", None, None, None),
        ("sécher", None, None, None),
        ("appeler", None, None, None),
        ("payer", None, None, None),
        ("aller", None, None, None),
        ("finir", None, None, None),
        ("vendre", None, None, None),
    ],
)
def test_french_verbs_have_the_forms_whose_rule_is_sure(verb, she, they, done):
    expected = {"infinitive": verb, "noun": verb, "she": she, "they": they, "done": done}
    assert french_forms(verb) == {name: form for name, form in expected.items() if form}


@pytest.mark.parametrize("auxiliary", ["sein", "werden", "können", "Haus", "rot"])
def test_what_is_no_verb_or_follows_no_rule_has_no_forms(auxiliary):
    assert german_forms(auxiliary) == {} and french_forms(auxiliary) == {}


def test_of_several_translations_it_is_the_one_that_texts_have():
    words = [("to chase", "hetzen"), ("to chase", "jagen"), ("to do", "machen"), ("to give up", "aufgeben")]
    assert [verb.target["infinitive"] for verb in verbs_of(words, [], "German")] == ["hetzen"]
    texts = [("He chased it.", "Er hat es gejagt."), ("She chases.", "Sie jagt es."), ("", "Sie hetzt.")]
    (verb,) = verbs_of(words, texts, "German")
    assert verb.english["base"] == "chase" and verb.target["infinitive"] == "jagen"


@pytest.mark.parametrize(
    ("language", "pair"), [("German", ("to paint", "malen")), ("French", ("to paint", "dessiner"))]
)
def test_every_frame_is_filled_and_with_its_verb(language, pair):
    verbs, frames = verbs_of([pair], [], language), read_verb_frames(language)
    assert len({english for english, _ in frames}) == len(frames) >= 40
    made = set(make_verb_sentences(verbs, language, looks=1500))
    assert len(made) == len(frames), "a verb with all its forms goes into each frame"
    stem = pair[1][:3]
    for english, target in made:
        assert "paint" in english.lower() and stem in target.lower(), (english, target)
        assert not re.search(r"[{}]|  ", english + target) and english[0].isupper() and target[0].isupper()
        assert target.endswith(english[-1] if language == "German" or english[-1] == "." else f" {english[-1]}")


@pytest.mark.parametrize("verb", ["échanger", "apporter", "habiter"])
def test_no_french_frame_wants_an_apostrophe_before_a_vowel(verb):
    for _, target in make_verb_sentences(verbs_of([("to paint", verb)], [], "French"), "French", looks=800):
        assert not re.search(rf"\b(de|ne|je|le|que|se) {verb[:4]}", target, re.IGNORECASE), target


def test_a_verb_without_sure_forms_goes_into_frames_of_its_infinitive_alone():
    verbs = verbs_of([("to switch off", "abschalten"), ("to switch", "umschalten")], [], "German")
    made = list(make_verb_sentences(verbs, "German", looks=100))
    assert len(made) == 100 and all("umschalten" in target.lower() for _, target in made)
    assert made == list(make_verb_sentences(verbs, "German", looks=100)), "the same seed makes the same"


def test_another_language_is_refused():
    for asked in (lambda: read_verb_frames("Welsh"), lambda: verbs_of([], [], "Welsh")):
        with pytest.raises(DataError, match="There are frames for German and French, not for 'Welsh'"):
            asked()


def test_the_command_writes_a_corpus_that_training_reads_and_refuses_what_has_no_verb(tmp_path, capsys):
    words, out = tmp_path / "words.tsv", tmp_path / "sentences.tsv.gz"
    words.write_text("to jump\tspringen\tding\nto paint\tmalen\tding\nthe fox\tder Fuchs\tding\n", encoding="utf-8")
    asked = ["sentences", "German", "--of", "verbs", "--looks", "4", "--out", str(out), "--words"]
    assert main([*asked, str(words)]) == 0
    assert "sentences of 2 verbs" in capsys.readouterr().out
    pairs = read_pairs(out, columns=3)
    assert 5 <= len(pairs) <= 8 and all(re.search("spring|mal", german.lower()) for _, german in pairs)
    out.unlink()
    words.write_text("the fox\tder Fuchs\n", encoding="utf-8")
    assert main([*asked, str(words)]) == 1
    assert "has no verb of one word." in capsys.readouterr().err and not out.exists()
