"""German and French noun phrases for English ones, in the case or after the preposition that a sentence asks for."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

Gender = Literal["m", "f", "n"]
Form = Literal["countable", "mass", "plural"]

DEFINITE = {
    "the": 8,
    "this": 2,
    "my": 2,
    "your": 1,
    "his": 1,
    "her": 1,
    "our": 1,
    "their": 1,
}  # how often each is drawn
INDEFINITE = {"a": 8, "my": 1}
# English has no "a first", "a last" or "a same" of just any noun, and "an other" is written in one word.
SHOWS_GENDER = ("a", "this")  # in French, before a vowel too: "un", "une", "cet", "cette"
DEFINITE_ONLY = ("first", "last", "other", "same")


@dataclass(frozen=True)
class Noun:
    """A noun: the English word, the other language's, its gender, and whether French writes l' before it.

    gender: None for a French noun after l' of which nothing tells it: it goes where no gender shows ("mon atout").
    form: what sentences it goes into: "a fox", "patience", which takes no article, or "foxes".
    """

    english: str
    target: str
    gender: Gender | None
    elided: bool = False
    form: Form = "countable"


@dataclass(frozen=True)
class Phrase:
    """A noun with an English determiner and perhaps an English adjective; without a determiner the noun alone."""

    noun: Noun
    determiner: str = ""
    adjective: str = ""

    @property
    def english(self) -> str:
        """The phrase in English, with "an" where it is said."""
        words = [word for word in (self.determiner, self.adjective, self.noun.english) if word]
        if words[0] == "a" and words[1][0] in "aeiou":
            words[0] = "an"
        return " ".join(words)


class Language(Protocol):
    """What a sentence asks of a language: its adjectives by their English word, and phrases at a frame's places."""

    @property
    def adjectives(self) -> Mapping[str, object]:
        """The adjectives, by their English words."""

    def phrase(self, phrase: Phrase, place: str) -> str:
        """Return the phrase as a place of a frame asks for it; raises KeyError for a place that is not known."""

    def finished(self, sentence: str, phrases: list[Phrase]) -> str:
        """Return the sentence with what words beside the places owe to what came into them."""


class German:
    """Places are cases: n, a and d for nominative, accusative and dative; which and that agree with the first noun.

    Nouns without a determiner stand as they are, but for many: the dative of a plural.
    """

    adjectives = {
        "old": "alt", "new": "neu", "big": "groß", "small": "klein", "little": "klein", "good": "gut",
        "bad": "schlecht", "beautiful": "schön", "red": "rot", "black": "schwarz", "white": "weiß", "green": "grün",
        "strange": "seltsam", "other": "ander", "second": "zweit", "last": "letzt", "first": "erst",
        "famous": "berühmt", "cheap": "billig", "interesting": "interessant", "broken": "kaputt",
        "dirty": "schmutzig", "modern": "modern", "real": "echt",
    }  # fmt: skip
    _ARTICLES = {"n": ("der", "die", "das"), "a": ("den", "die", "das"), "d": ("dem", "der", "dem")}
    _LIKE_DER = {"n": ("er", "e", "es"), "a": ("en", "e", "es"), "d": ("em", "er", "em")}
    _LIKE_EIN = {"n": ("", "e", ""), "a": ("en", "e", ""), "d": ("em", "er", "em")}
    _EIN = {
        "a": "ein", "my": "mein", "your": "dein", "his": "sein", "her": "ihr", "our": "unser", "their": "ihr",
    }  # fmt: skip
    # Masculine nouns, of people and animals mostly, that take -(e)n in every case but the nominative, and others that
    # end like them.
    _WEAK_ENDING = re.compile(r"(ist|ent|ant|oge|aut|arch|soph|graph|nom|ekt|et|ot|at|e)$")
    _WEAK = {
        "Mensch", "Herr", "Bär", "Held", "Prinz", "Graf", "Fürst", "Narr", "Christ", "Nachbar", "Bauer", "Doktorand",
    }  # fmt: skip
    _STRONG = {
        "Käse", "Moment", "Zement", "Akzent", "Advent", "Kontinent", "Orient", "Cent", "Proviant", "Mist", "Twist",
        "Zwist", "Rat", "Staat", "Salat", "Apparat", "Spagat", "Monat", "Senat", "Effekt", "Aspekt", "Respekt",
        "Defekt", "Infekt", "Dialekt", "Intellekt", "Prospekt", "Affekt", "Tee", "See", "Schnee", "Klee", "Kaffee",
        "Boykott", "Spott", "Schrott", "Trott", "Magnet", "Vorrat", "Verrat", "Beirat", "Stadtrat", "Hausrat",
    }  # fmt: skip

    def phrase(self, phrase: Phrase, place: str) -> str:
        """See `Language.phrase`."""
        gender = "mfn".index(phrase.noun.gender or "")
        if place == "which":
            return "welch" + self._LIKE_DER["n"][gender]
        if place == "that":
            return self._ARTICLES["a"][gender]
        if not phrase.determiner:
            return self._dative_plural(phrase.noun.target) if place == "many" else phrase.noun.target
        stem = self._EIN.get(phrase.determiner)
        ending = self._LIKE_EIN[place][gender]
        if stem:
            article = stem + ending
        elif phrase.determiner == "this":
            article = "dies" + self._LIKE_DER[place][gender]
        else:
            article = self._ARTICLES[place][gender]
        words = [article]
        if phrase.adjective:
            shows_no_case = bool(stem) and not ending
            words.append(self.adjectives[phrase.adjective] + self._ending(place, gender, shows_no_case))
        words.append(phrase.noun.target if place == "n" or gender else self._oblique(phrase.noun.target))
        return " ".join(words)

    def finished(self, sentence: str, phrases: list[Phrase]) -> str:  # noqa: ARG002 (alike)
        """See `Language.finished`."""
        return sentence

    @staticmethod
    def _ending(place: str, gender: int, shows_no_case: bool) -> str:
        """Return an adjective's ending; before it stands an article that shows the case, or, as "ein", none."""
        if shows_no_case:
            return ("er", "e", "es")[gender]
        return "en" if place == "d" or (place == "a" and gender == 0) else "e"

    @staticmethod
    def _dative_plural(noun: str) -> str:
        return noun if noun[-1] in "ns" else noun + "n"

    def _oblique(self, noun: str) -> str:
        """Return a masculine noun in accusative or dative."""
        ends_weak = len(noun) > 4 and noun not in self._STRONG and self._WEAK_ENDING.search(noun)
        if not ends_weak and noun not in self._WEAK:
            return noun
        return noun + ("n" if noun.endswith("e") or noun in ("Herr", "Nachbar", "Bauer") else "en")


class French:
    """Places are x, and de and to after "de" and "à"; which and e, a participle's ending, agree with the first noun.

    A plural and a mass noun have the definite article there, as French has it: "la patience", "des puces".
    """

    adjectives = {  # of those before the noun: masculine, masculine before a vowel, feminine
        "old": ("vieux", "vieil", "vieille"), "new": ("nouveau", "nouvel", "nouvelle"),
        "big": ("grand", "grand", "grande"), "small": ("petit", "petit", "petite"),
        "little": ("petit", "petit", "petite"), "good": ("bon", "bon", "bonne"),
        "beautiful": ("beau", "bel", "belle"), "other": ("autre", "autre", "autre"),
        "same": ("même", "même", "même"), "first": ("premier", "premier", "première"),
        "last": ("dernier", "dernier", "dernière"), "real": ("vrai", "vrai", "vraie"),
        "young": ("jeune", "jeune", "jeune"), "pretty": ("joli", "joli", "jolie"),
    }  # fmt: skip
    _POSSESSIVE = {"my": "m", "your": "t", "his": "s", "her": "s"}
    _PREPOSITIONS = {"x": "", "de": "de ", "to": "à "}
    _MELTED = {("de", "le "): "du ", ("to", "le "): "au ", ("de", "les "): "des ", ("to", "les "): "aux "}

    def phrase(self, phrase: Phrase, place: str) -> str:
        """See `Language.phrase`."""
        noun, feminine = phrase.noun, phrase.noun.gender == "f"
        if place == "which":
            return "quelle" if feminine else "quel"
        if place == "e":
            return "e" if feminine else ""
        if place == "noun":
            return noun.target
        following, before_vowel = noun.target, noun.elided
        if phrase.adjective:
            masculine, masculine_before_vowel, of_feminine = self.adjectives[phrase.adjective]
            word = of_feminine if feminine else masculine_before_vowel if noun.elided else masculine
            following, before_vowel = f"{word} {noun.target}", word[0] in "aeiouéê"
        article = "les " if noun.form == "plural" else self._article(phrase.determiner, feminine, before_vowel)
        melted = self._MELTED.get((place, article))
        return (melted or self._PREPOSITIONS[place] + article) + following

    def finished(self, sentence: str, phrases: list[Phrase]) -> str:
        """See `Language.finished`: "que", "de" before a vowel."""
        sentence = re.sub(r"\b([Qq]u|[Dd])e (?=une? |autre )", r"\1'", sentence)
        if phrases[0].noun.elided:
            sentence = sentence.replace(f" de {phrases[0].noun.target}", f" d'{phrases[0].noun.target}")
        return sentence

    def _article(self, determiner: str, feminine: bool, before_vowel: bool) -> str:
        """Return the determiner with the space after it, or its apostrophe."""
        if determiner in self._POSSESSIVE:
            return self._POSSESSIVE[determiner] + ("a " if feminine and not before_vowel else "on ")
        if determiner in ("our", "their"):
            return {"our": "notre ", "their": "leur "}[determiner]
        if determiner == "this":
            return "cette " if feminine else "cet " if before_vowel else "ce "
        if determiner == "a":
            return "une " if feminine else "un "
        return "l'" if before_vowel else "la " if feminine else "le "


LANGUAGES: dict[str, Language] = {"German": German(), "French": French()}
