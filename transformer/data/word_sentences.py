"""Sentences that show a dictionary's nouns in many contexts, made from frames with open places.

A noun that a model has seen only by itself, "the fox" and "der Fuchs", does not always arrive in a sentence. A frame
is a line of `frames_german.tsv` or `frames_french.tsv`: an English sentence, a tab, the other language's. Its English
places {the} and {a} are for a noun with an article, a possessive or a demonstrative, and sometimes an adjective;
{noun} is for the noun alone, {mass} for one that takes no article ("patience"), {plural} for a plural ("foxes"). What
the places of the other side ask for is in `noun_phrases`. Both sides name their nouns in the same order. The frames are
this project's own.
"""

import functools
import gzip
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from ..errors import DataError
from ..files import write_atomically
from .noun_phrases import (
    DEFINITE,
    DEFINITE_ONLY,
    INDEFINITE,
    LANGUAGES,
    SHOWS_GENDER,
    Form,
    Gender,
    Language,
    Noun,
    Phrase,
)

ORIGIN = "word_sentences"  # in the third column of the corpus that is written

_ADJECTIVES = 0.3  # the share of phrases with one
PLACE = re.compile(r"\{(\w+)\}")
_AGREEING = ("which", "that", "e")  # places that no noun of its own fills
_WORD = re.compile(r"(the )?[a-z][a-z-]+")
_GERMAN = re.compile(r"(?:(der|die|das) )?([A-ZÄÖÜ][a-zäöüß]{2,})")
_GERMAN_GENDERS: dict[str, Gender] = {"der": "m", "die": "f", "das": "n"}
# What tells the gender in a sentence; "der", "die" and "den" do not, for they stand for several.
_GERMAN_ARTICLE = re.compile(r"\b(?:(k?einen)|(k?einer?)|(das)) ([A-ZÄÖÜ][a-zäöüß]{2,})")
_GERMAN_ENDING = re.compile(r"(?:(ismus|ling)|(ung|heit|keit|schaft|ität|ion)|(chen|lein))$")
# An adjective that has become a noun is declined like one: "der Beamte, ein Beamter".
_ADJECTIVAL = re.compile(r"(nde|igte|ierte|ige|iche|ische|ene|amte|ste|lle)$")
_FRENCH = re.compile(r"(le |la |l')?([a-zà-ÿœæ-]{3,})")
_FRENCH_ARTICLE = re.compile(r"\b(un|une|le|la) ([a-zà-ÿœæ-]{3,})")
_VOWELS = "aeiouéèêàâîôœ"
_BARE = re.compile(  # "Pay more attention to her.", "They are full of hope."
    r"\b(?:much|more|less|enough|some|without|lack of|lots? of|full of|need|for|with) ([a-z]+)"
    r"(?=[.,;!?]| (?:and|or|is|was|to)\b)"
)
_COUNTED = re.compile(r"\b(?:an?|one|every|each) ([a-z]+)\b")
_LEAST_BARE = 3  # places where a noun that takes no article stands without one
_WITHOUT_UMLAUT = str.maketrans("äöü", "aou")
# English words whose plural is no s, and others for which the rule is not sure.
_IRREGULAR = ("man", "child", "foot", "tooth", "goose", "mouse", "person", "fe", "f", "o", "fish", "sheep", "deer")
_FRENCH_PLURAL = re.compile(r"(?:[sxz]|e?au|eu|al|)$")
_FRENCH_PLURALS = {
    "s": "s", "x": "x", "z": "z", "eau": "eaux", "au": "aux", "eu": "eux", "al": "aux", "": "s",
}  # fmt: skip
_BEFORE_NOUN, _AFTER_NOUN = "the|an?|this|my|your|his|her|our", "of|in|on|is|was|for|and|at|from|with|that|has"
_ENGLISH_NOUN = re.compile(rf"\b(?:{_BEFORE_NOUN}) ([a-z][a-z-]+)(?=[.,!?;]| (?:{_AFTER_NOUN})\b)")


def nouns_of(words: Sequence[tuple[str, str]], texts: Iterable[tuple[str, str]], language: str) -> list[Noun]:
    """Return the nouns among a dictionary's pairs of words, each English word once, the plurals last.

    words: pairs such as ("the fox", "der Fuchs"), whose article tells the gender, or ("fox", "Fuchs"); what is more
    than a word is left out. Plurals are the dictionary's in German ("foxes", "Füchse") and made by rule in French.
    Nouns that stand without an article in `texts`, and hardly ever after "a", are mass nouns. Where no article tells
    it, the gender is that of the longest known noun which ends the word ("Höhe" in "Flughöhe"), of "einen", "eine" or
    "das" before it in the sentences of `texts`, or of its ending ("Hoffnung"). In French, which writes nouns small, it
    is that of "un", "une", "le" or "la" before the word in `texts`, and a word without an article has to be an English
    noun in them, too. Words of unknown gender are left out, but for French ones after l'. Raises DataError for another
    language than German and French.
    """
    grammar_of(language)
    texts = list(texts)
    single = [
        (_bare(english), target) for english, target in words if _WORD.fullmatch(english) and not _plural(english)
    ]
    found = _german_nouns(single, texts) if language == "German" else _french_nouns(single, texts)
    nouns: dict[str, Noun] = {}
    for noun in found:
        nouns.setdefault(noun.english, noun)
    mass = _mass_nouns(english for english, _ in texts)
    singular = [replace(noun, form="mass") if noun.english in mass else noun for noun in nouns.values()]
    plurals = _german_plurals(words, nouns) if language == "German" else _french_plurals(singular)
    return singular + list({noun.english: noun for noun in plurals}.values())


@functools.cache
def read_frames(language: str, name: str = "frames") -> tuple[tuple[str, str], ...]:
    """Return the frames of a file for "German" or "French"; raises DataError for another language."""
    grammar_of(language)
    lines = Path(__file__).with_name(f"{name}_{language.lower()}.tsv").read_text(encoding="utf-8").splitlines()
    return tuple((english, target) for english, target in (line.split("\t") for line in lines))


def make_sentences(nouns: Sequence[Noun], language: str, looks: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield pairs of sentences, in each of `looks` rounds one for each of `nouns`; the same ones for the same seed.

    A frame of two places shows another noun as well, so that each noun is seen more than `looks` times.
    """
    rng = random.Random(seed)
    frames = {kind: _frames_for(*kind, language) for kind in {(noun.form, noun.gender is None) for noun in nouns}}
    alike = {form: [noun for noun in nouns if noun.form == form] for form in get_args(Form)}
    for _ in range(looks):
        for noun in rng.sample(list(nouns), len(nouns)):
            suitable, weights = frames[noun.form, noun.gender is None]
            frame = rng.choices(suitable, weights)[0]
            yield fill(frame, [noun, rng.choice(alike[noun.form])], language, rng)


def fill(frame: tuple[str, str], nouns: Sequence[Noun], language: str, rng: random.Random) -> tuple[str, str]:
    """Return both sides of a frame, its places filled with these nouns in order."""
    grammar, waiting = grammar_of(language), iter(nouns)
    phrases: list[Phrase] = []

    def of_english(place: re.Match) -> str:
        phrases.append(_phrase(next(waiting), place[1], grammar, rng))
        return phrases[-1].english

    source = PLACE.sub(of_english, frame[0])
    in_order = iter(phrases)

    def of_target(place: re.Match) -> str:
        return grammar.phrase(phrases[0] if place[1] in _AGREEING else next(in_order), place[1])

    target = grammar.finished(PLACE.sub(of_target, frame[1]), phrases)
    return capital(source), capital(target)


def write_sentences(pairs: Iterable[tuple[str, str]], out: Path) -> int:
    """Write different pairs as a corpus of three columns, gzip; return how many there are."""
    lines = dict.fromkeys(f"{source}\t{target}\t{ORIGIN}\n" for source, target in pairs)
    write_atomically(out, gzip.compress("".join(lines).encode(), mtime=0))
    return len(lines)


def grammar_of(language: str) -> Language:
    """Return the grammar of "German" or "French"; raises DataError for another language."""
    if language not in LANGUAGES:
        raise DataError(f"There are frames for {' and '.join(LANGUAGES)}, not for {language!r}.")
    return LANGUAGES[language]


def _frames_for(form: Form, genderless: bool, language: str) -> tuple[list[tuple[str, str]], list[int]]:
    """Return the frames that a noun may come first in, and how often each is drawn."""
    frames = [
        (english, target)
        for english, target in read_frames(language)
        if _suits(english, form) and not (genderless and set(PLACE.findall(target)) & set(_AGREEING))
    ]
    # Two nouns in one sentence cost less than in two.
    return frames, [2 * len(PLACE.findall(english)) - 1 for english, _ in frames]


def _suits(english: str, form: Form) -> bool:
    """Return whether a frame's English places are for nouns of this form: "the patience" is said, "a patience" not."""
    places = set(PLACE.findall(english))
    of_form = {"countable": {"the", "a", "noun"}, "mass": {"mass", "the"}, "plural": {"plural"}}
    return places <= of_form[form]


def _phrase(noun: Noun, place: str, grammar: Language, rng: random.Random) -> Phrase:
    if place not in ("the", "a"):
        return Phrase(noun)
    determiners = DEFINITE if place == "the" else INDEFINITE
    if noun.gender is None:
        determiners = {word: often for word, often in determiners.items() if word not in SHOWS_GENDER}
    determiner = rng.choices(list(determiners), list(determiners.values()))[0]
    if noun.gender is None:
        return Phrase(noun, determiner)
    adjective = rng.choice(list(grammar.adjectives)) if rng.random() < _ADJECTIVES else ""
    if adjective in DEFINITE_ONLY and determiner != "the":
        adjective = ""
    return Phrase(noun, determiner, adjective)


def _german_nouns(words: Sequence[tuple[str, str]], texts: Iterable[tuple[str, str]]) -> Iterator[Noun]:
    parsed = [(english, match) for english, target in words if (match := _GERMAN.fullmatch(target))]
    known = {match[2]: _GERMAN_GENDERS[match[1]] for _, match in parsed if match[1]}
    articles: Iterable[tuple[str, Gender]] = (
        (word, "m" if masculine else "f" if feminine else "n")
        for _, target in texts
        for masculine, feminine, _, word in _GERMAN_ARTICLE.findall(target)
    )
    seen = _agreed(articles, least=2)
    for english, match in parsed:
        word = match[2]
        if match[1]:
            gender: Gender | None = _GERMAN_GENDERS[match[1]]
        else:
            gender = _of_ending(word, known) or seen.get(word) or _of_suffix(english, word)
        if gender and (match[1] == "die" or not _ADJECTIVAL.search(word)):
            yield Noun(english, word, gender)


def _of_suffix(english: str, word: str) -> Gender | None:
    """Return the gender that a German noun's last syllable tells, and of verbs used as nouns ("riding", "Reiten")."""
    if match := _GERMAN_ENDING.search(word):
        return "m" if match[1] else "f" if match[2] else "n"
    return "n" if english.endswith("ing") and re.search(r"(en|eln|ern)$", word) else None


def _of_ending(word: str, known: dict[str, Gender]) -> Gender | None:
    """Return the gender of the longest known noun that is the word or its end, of four letters or more."""
    ends = (word[start:].capitalize() for start in range(len(word) - 3))
    return next((known[end] for end in ends if end in known), None)


def _french_nouns(words: Sequence[tuple[str, str]], texts: Sequence[tuple[str, str]]) -> Iterator[Noun]:
    genders = _seen_genders(target for _, target in (*words, *texts))
    are_nouns = {word for english, _ in texts for word in _ENGLISH_NOUN.findall(english.lower())}
    for english, target in words:
        match = _FRENCH.fullmatch(target)
        if not match or not (match[1] or english in are_nouns):
            continue
        told: dict[str, Gender] = {"le ": "m", "la ": "f"}
        gender = told.get(match[1] or "") or genders.get(match[2])
        if gender or match[1] == "l'":
            elided = match[1] == "l'" or (not match[1] and match[2][0] in _VOWELS)
            yield Noun(english, match[2], gender, elided)


def _seen_genders(texts: Iterable[str]) -> dict[str, Gender]:
    """Return the gender of each French word with an article before it.

    It has to be there twice, but for words that begin with a vowel, before which "le" and "la" do not stand.
    """
    articles: list[tuple[str, Gender]] = [
        (word, "f" if article in ("la", "une") else "m")
        for text in texts
        for article, word in _FRENCH_ARTICLE.findall(text.lower())
    ]
    once = _agreed((pair for pair in articles if pair[0][0] in _VOWELS), least=1)
    return once | _agreed(articles, least=2)


def _agreed(articles: Iterable[tuple[str, Gender]], least: int) -> dict[str, Gender]:
    """Return each word's gender where it was seen `least` times, at least nine of ten times with one."""
    seen: dict[str, Counter[Gender]] = {}
    for word, gender in articles:
        seen.setdefault(word, Counter())[gender] += 1
    return {
        word: counts.most_common(1)[0][0]
        for word, counts in seen.items()
        if counts.total() >= least and counts.most_common(1)[0][1] >= 0.9 * counts.total()
    }


def _mass_nouns(sentences: Iterable[str]) -> set[str]:
    """Return the words that stand without an article, and eight times as often as they follow "a"."""
    bare: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    for sentence in sentences:
        bare.update(_BARE.findall(sentence))
        counted.update(_COUNTED.findall(sentence.lower()))
    return {word for word, count in bare.items() if count >= _LEAST_BARE and count >= 8 * counted[word]}


def _german_plurals(words: Iterable[tuple[str, str]], nouns: Mapping[str, Noun]) -> Iterator[Noun]:
    """Yield the dictionary's plurals of known nouns whose German begins alike: "Füchse" of "Fuchs"."""
    for english, target in words:
        singular = next((nouns[word] for word in _singulars(english) if word in nouns), None)
        if singular and _GERMAN.fullmatch(target) and " " not in target and _stem(target) == _stem(singular.target):
            yield replace(singular, english=english, target=target, form="plural")


def _french_plurals(nouns: Iterable[Noun]) -> Iterator[Noun]:
    for noun in nouns:
        if noun.form == "countable" and not noun.english.endswith(_IRREGULAR):
            target = _FRENCH_PLURAL.sub(lambda end: _FRENCH_PLURALS[end[0]], noun.target, count=1)
            yield replace(noun, english=_english_plural(noun.english), target=target, form="plural")


def _singulars(english: str) -> Iterator[str]:
    for end, instead in (("ies", "y"), ("es", ""), ("s", "")):
        if english.endswith(end):
            yield english.removesuffix(end) + instead


def _english_plural(noun: str) -> str:
    if re.search(r"[^aeiou]y$", noun):
        return noun[:-1] + "ies"
    return noun + ("es" if re.search(r"(s|x|z|ch|sh)$", noun) else "s")


def _stem(german: str) -> str:
    return german.lower().translate(_WITHOUT_UMLAUT)[:4]


def _bare(english: str) -> str:
    return english.removeprefix("the ")


def _plural(english: str) -> bool:
    return english.endswith("s") and not english.endswith(("ss", "us", "is"))


def capital(sentence: str) -> str:
    """Return a sentence with a capital at its head."""
    return sentence[0].upper() + sentence[1:]
