"""Sentences of a dictionary's nouns: their genders, their grammar, and the frames that come with the package."""

import gzip
import random
import re
from dataclasses import replace

import pytest

from transformer.__main__ import main
from transformer.data.noun_phrases import DEFINITE, INDEFINITE, LANGUAGES, Noun, Phrase
from transformer.data.pairs import read_pairs
from transformer.data.word_sentences import fill, make_sentences, nouns_of, read_frames
from transformer.errors import DataError

GERMAN, FRENCH = LANGUAGES["German"], LANGUAGES["French"]
FOX, SPIDER, BOOK = Noun("fox", "Fuchs", "m"), Noun("spider", "Spinne", "f"), Noun("book", "Buch", "n")
STUDENT, BOY = Noun("student", "Student", "m"), Noun("boy", "Junge", "m")
FOXES, TREES = Noun("foxes", "Füchse", "m", form="plural"), Noun("trees", "arbres", "m", True, "plural")
CARE, PATIENCE = Noun("care", "Sorgfalt", "f", form="mass"), Noun("patience", "patience", "f", form="mass")
ATTENTION, COURAGE = Noun("attention", "attention", "f", True, "mass"), Noun("courage", "courage", "m", form="mass")
PLACES = {
    "German": {"n", "a", "d", "many", "noun", "which", "that"},
    "French": {"x", "de", "to", "noun", "which", "e"},
}
AGREEING = {"which", "that", "e"}


@pytest.mark.parametrize(
    ("noun", "determiner", "adjective", "place", "expected"),
    [
        (FOX, "the", "", "n", "der Fuchs"),
        (FOX, "the", "old", "a", "den alten Fuchs"),
        (FOX, "a", "old", "n", "ein alter Fuchs"),
        (FOX, "my", "old", "d", "meinem alten Fuchs"),
        (SPIDER, "the", "old", "a", "die alte Spinne"),
        (SPIDER, "this", "", "d", "dieser Spinne"),
        (SPIDER, "her", "big", "d", "ihrer großen Spinne"),
        (BOOK, "a", "new", "a", "ein neues Buch"),
        (BOOK, "the", "new", "a", "das neue Buch"),
        (BOOK, "this", "new", "d", "diesem neuen Buch"),
        (STUDENT, "the", "", "n", "der Student"),
        (STUDENT, "the", "", "a", "den Studenten"),
        (BOY, "our", "", "d", "unserem Jungen"),
        (Noun("cement", "Zement", "m"), "the", "", "a", "den Zement"),
        (Noun("gentleman", "Herr", "m"), "the", "", "d", "dem Herrn"),
        (FOX, "", "", "which", "welcher"),
        (BOOK, "", "", "that", "das"),
        (FOXES, "", "", "n", "Füchse"),
        (FOXES, "", "", "many", "Füchsen"),
        (Noun("clocks", "Uhren", "f", form="plural"), "", "", "many", "Uhren"),
        (CARE, "", "", "n", "Sorgfalt"),
        (CARE, "my", "", "d", "meiner Sorgfalt"),
    ],
)
def test_german_phrases_are_in_their_case(noun, determiner, adjective, place, expected):
    assert GERMAN.phrase(Phrase(noun, determiner, adjective), place) == expected


TREE, SCHOOL, HERO = Noun("tree", "arbre", "m", True), Noun("school", "école", "f", True), Noun("hero", "héros", "m")
LAMP = Noun("lamp", "lampe", "f")


@pytest.mark.parametrize(
    ("noun", "determiner", "adjective", "place", "expected"),
    [
        (TREE, "the", "", "x", "l'arbre"),
        (TREE, "the", "old", "x", "le vieil arbre"),
        (TREE, "the", "", "de", "de l'arbre"),
        (TREE, "this", "", "x", "cet arbre"),
        (TREE, "a", "", "de", "de un arbre"),
        (SCHOOL, "my", "", "x", "mon école"),
        (SCHOOL, "my", "old", "x", "ma vieille école"),
        (SCHOOL, "this", "", "to", "à cette école"),
        (HERO, "the", "", "de", "du héros"),
        (HERO, "the", "", "to", "au héros"),
        (HERO, "this", "", "x", "ce héros"),
        (LAMP, "the", "", "de", "de la lampe"),
        (LAMP, "the", "other", "x", "l'autre lampe"),
        (LAMP, "their", "", "x", "leur lampe"),
        (LAMP, "", "", "which", "quelle"),
        (LAMP, "", "", "e", "e"),
        (TREES, "", "", "x", "les arbres"),
        (TREES, "", "", "de", "des arbres"),
        (TREES, "", "", "to", "aux arbres"),
        (PATIENCE, "", "", "x", "la patience"),
        (ATTENTION, "", "", "de", "de l'attention"),
        (COURAGE, "", "", "de", "du courage"),
    ],
)
def test_french_phrases_agree_and_melt(noun, determiner, adjective, place, expected):
    assert FRENCH.phrase(Phrase(noun, determiner, adjective), place) == expected


def test_french_words_before_a_vowel_lose_theirs():
    assert FRENCH.finished("Je parle de un arbre.", [Phrase(TREE)]) == "Je parle d'un arbre."
    assert FRENCH.finished("Je dis que une école brûle.", [Phrase(SCHOOL)]) == "Je dis qu'une école brûle."
    assert FRENCH.finished("Quel genre de arbre est-ce ?", [Phrase(TREE)]) == "Quel genre d'arbre est-ce ?"
    assert FRENCH.finished("Quel genre de héros est-ce ?", [Phrase(HERO)]) == "Quel genre de héros est-ce ?"


@pytest.mark.parametrize(("word", "said"), [("apple", "an apple"), ("fox", "a fox")])
def test_english_says_an_before_a_vowel(word, said):
    assert Phrase(Noun(word, "x", "m"), "a").english == said


@pytest.mark.parametrize("language", LANGUAGES)
def test_both_sides_of_every_frame_have_the_same_places(language):
    frames = read_frames(language)
    assert len({english for english, _ in frames}) == len(frames) > 100
    for english, target in frames:
        asked = re.findall(r"\{(\w+)\}", english)
        answered = re.findall(r"\{(\w+)\}", target)
        assert set(asked) <= {"the", "a", "noun", "mass", "plural"} and set(answered) <= PLACES[language], english
        own = [place for place in answered if place not in AGREEING]
        assert 1 <= len(asked) <= 2 and len(own) == len(asked), english
        # A noun alone has no article on the other side either.
        assert all(theirs == "noun" for ours, theirs in zip(asked, own, strict=True) if ours == "noun"), english
        marks = [side[-1] if side[-1] in ".!?" else "" for side in (english, target)]
        assert marks[0] == marks[1], english


@pytest.mark.parametrize(
    ("language", "nouns"),
    [
        ("German", {"countable": [FOX, SPIDER, BOOK], "mass": [CARE, BOOK], "plural": [FOXES, SPIDER]}),
        ("French", {"countable": [TREE, SCHOOL, LAMP], "mass": [PATIENCE, ATTENTION], "plural": [TREES, HERO]}),
    ],
)
def test_every_frame_is_filled_with_both_words_of_its_nouns(language, nouns):
    rng = random.Random(1)
    determiners = "|".join([*DEFINITE, *INDEFINITE, "an"])
    for frame in read_frames(language):
        for _ in range(20):
            form = next((form for form in ("mass", "plural") if f"{{{form}}}" in frame[0]), "countable")
            first, second = (replace(noun, form=form) for noun in rng.sample(nouns[form], 2))
            english, target = fill(frame, [first, second], language, rng)
            assert not re.search(r"[{}]|  |\b(de|à) le |\b(que|de) une?\b", english + target), target
            assert first.english in english.lower() and first.target.lower() in target.lower(), (english, target)
            both = second.english in english.lower(), second.target.lower() in target.lower()
            assert both[0] == both[1], (english, target)
            if form == "countable" and "{noun}" not in frame[0]:
                assert re.search(rf"\b({determiners})\b", english, re.IGNORECASE), english


def test_a_round_shows_each_noun_and_the_same_seed_the_same_sentences():
    nouns = [FOX, SPIDER, BOOK, STUDENT]
    made = list(make_sentences(nouns, "German", looks=3, seed=5))
    assert made == list(make_sentences(nouns, "German", looks=3, seed=5)) and len(made) == 12
    assert made != list(make_sentences(nouns, "German", looks=3, seed=6))
    for number in range(3):
        shown = " ".join(english for english, _ in made[4 * number : 4 * number + 4])
        assert all(noun.english in shown for noun in nouns)


def test_german_genders_come_from_the_article_or_from_the_end_of_the_word():
    words = [
        ("the height", "die Höhe"), ("flying height", "Flughöhe"), ("altitude", "Flughöhe"), ("oddity", "Xyz"),
        ("the fox", "der Fuchs"), ("fox", "Rotfuchs"), ("foxes", "Füchse"), ("to run", "laufen"),
        ("the official", "der Beamte"), ("the glass", "das Glas"),
    ]  # fmt: skip
    found = nouns_of(words, [], "German")
    assert found == [
        Noun("height", "Höhe", "f"),
        Noun("altitude", "Flughöhe", "f"),
        Noun("fox", "Fuchs", "m"),
        Noun("glass", "Glas", "n"),
        Noun("foxes", "Füchse", "m", form="plural"),
    ]


def test_what_stands_without_an_article_is_a_mass_noun_and_goes_into_its_frames_alone():
    words = [("the patience", "die Geduld"), ("the fox", "der Fuchs"), ("the hope", "die Hoffnung")]
    texts = [
        (f"{sentence}.", "")
        for sentence in ("Have some patience", "She is without patience and rest", "It takes more patience to wait",
                         "I need hope", "He waits without hope", "We live with hope", "A hope remains")
    ]  # fmt: skip
    nouns = nouns_of(words, texts, "German")
    assert {noun.english: noun.form for noun in nouns} == {"patience": "mass", "fox": "countable", "hope": "countable"}
    made = list(make_sentences(nouns, "German", looks=60))
    of_patience = [english for english, _ in made if "atience" in english]
    assert any(english.startswith("Patience") for english in of_patience)
    assert not any(re.search(r"\ba (\w+ )?patience", english) for english in of_patience)


def test_french_plurals_are_made_by_rule_and_left_out_where_english_has_none_by_rule():
    words = [
        ("the newspaper", "le journal"), ("the boat", "le bateau"), ("the nose", "le nez"), ("the city", "la ville"),
        ("the woman", "la femme"), ("the box", "la boîte"), ("the game", "le jeu"),
    ]  # fmt: skip
    plurals = {noun.english: noun.target for noun in nouns_of(words, [], "French") if noun.form == "plural"}
    assert plurals == {
        "newspapers": "journaux", "boats": "bateaux", "noses": "nez", "cities": "villes", "boxes": "boîtes",
        "games": "jeux",
    }  # fmt: skip


def test_french_genders_come_from_the_article_or_from_sentences():
    words = [
        ("the fox", "le renard"), ("the tree", "l'arbre"), ("apple", "pomme"), ("valuable", "valeur"),
        ("the use", "l'usage"), ("egg", "oeuf"),
    ]  # fmt: skip
    texts = [
        ("I see a tree.", "Je vois un arbre."),
        ("The apple is red. I eat the apple.", "La pomme est rouge. Je mange la pomme."),
        ("It has a valuable stone.", "Elle a la valeur, la valeur."),
        ("An egg.", "Un oeuf."),
    ]
    assert [noun for noun in nouns_of(words, texts, "French") if noun.form == "countable"] == [
        Noun("fox", "renard", "m"), Noun("tree", "arbre", "m", True), Noun("apple", "pomme", "f"),
        Noun("use", "usage", None, True), Noun("egg", "oeuf", "m", True),
    ]  # fmt: skip


def test_german_genders_come_from_sentences_or_from_an_ending():
    words = [
        ("guest", "Gast"), ("camel", "Kamel"), ("spoon", "Gabel"), ("tide", "Flut"), ("hope", "Hoffnung"),
        ("riding", "Reiten"), ("shop", "Laden"),
    ]  # fmt: skip
    texts = [
        ("", "Wir haben einen Gast. Ich sehe keinen Gast, und der Gast sieht mich."),
        ("", "Ich sehe, was das Kamel sieht: das Kamel."),
        ("", "Ich habe eine Gabel; der Gabel entkam keiner."),
        ("", "Er sah eine Flut, keine Flut, einen Flut."),
    ]
    assert nouns_of(words, texts, "German") == [
        Noun("guest", "Gast", "m"), Noun("camel", "Kamel", "n"), Noun("hope", "Hoffnung", "f"),
        Noun("riding", "Reiten", "n"),
    ]  # fmt: skip


def test_a_french_noun_of_unknown_gender_goes_where_none_shows():
    asset = Noun("asset", "atout", None, True)
    pairs = make_sentences([asset], "French", looks=600)
    made = [(english, target) for english, target in pairs if "atout" in target.lower()]
    assert len(made) == 600
    for english, target in made:
        assert not re.search(r"\b(une?|cet|cette|quelle?) (\w+ )?atout", target), target
        assert not re.search(r"\b(an?|this) (\w+ )?asset\b", english), english


def test_another_language_is_refused():
    for asked in (lambda: read_frames("Welsh"), lambda: nouns_of([], [], "Welsh")):
        with pytest.raises(DataError, match="There are frames for German and French, not for 'Welsh'"):
            asked()


def test_the_command_writes_a_corpus_that_training_reads(tmp_path, capsys):
    words = tmp_path / "words.tsv"
    words.write_text("the fox\tder Fuchs\tding\nthe flea\tder Floh\tding\n", encoding="utf-8")
    out = tmp_path / "sentences.tsv.gz"
    assert main(["sentences", "German", "--words", str(words), "--looks", "4", "--out", str(out)]) == 0
    assert "sentences of 2 nouns" in capsys.readouterr().out
    pairs = read_pairs(out, columns=3)
    assert 6 <= len(pairs) <= 8 and all("Fuchs" in german or "Floh" in german for _, german in pairs)
    assert gzip.decompress(out.read_bytes()).decode().splitlines()[0].endswith("\tword_sentences")


def test_the_command_refuses_what_has_no_noun(tmp_path, capsys):
    words = tmp_path / "words.tsv"
    words.write_text("to run\tlaufen\n", encoding="utf-8")
    assert main(["sentences", "German", "--words", str(words), "--out", str(tmp_path / "a.tsv.gz")]) == 1
    assert "has no noun whose gender is told." in capsys.readouterr().err
    assert not (tmp_path / "a.tsv.gz").exists()
