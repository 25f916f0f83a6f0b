"""Sentences that show a dictionary's verbs in their forms, made from frames with open places.

A verb that a model has seen only as "to jump" and "springen" does not always arrive as "jumps". A frame is a line of
`verb_frames_german.tsv` or `verb_frames_french.tsv`: an English sentence with a place for the verb, {base}, {s}, {ing}
or {ed}, a tab, and the other language's with {infinitive}; {noun}, the infinitive as a noun; {whole}, the infinitive of
a German verb that does not come apart ("aufstehen" does), which is its plural, too; {they}, the French plural; {she},
the third person singular; or {done}, the participle with "haben" or "avoir". A verb has only the forms whose rule is
sure, and goes only into frames that ask for these. The frames are this project's own.
"""

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .word_sentences import PLACE, capital, grammar_of, read_frames

Forms = Mapping[str, str]  # by the name of the place that a form fills

_VERB = re.compile(r"to ([a-z]{2,})")
_LETTERS = re.compile(r"[a-zà-ÿœß]+")
_NOT_LIKE_OTHERS = {"be", "have", "do"}
# Irregular English verbs, also with a prefix.
_NO_ED_ROOTS = """
    bear beat become begin bend bet bid bind bite bleed blow break breed bring broadcast build burn burst buy
    cast catch choose cling come cost creep cut deal dig do draw dream drink drive eat fall feed feel fight find
    flee fling fly forsake freeze get give go grind grow hang hear hide hit hold hurt keep kneel know lay lead
    lean leap learn leave lend let lie light lose make mean meet mow pay prove put quit read rid ride ring
    rise run saw say see seek sell send set sew shake shed shine shoot show shrink shut sing sink sit slay sleep
    slide sling slink slit smell sow speak speed spell spend spill spin spit split spoil spread spring stand
    steal stick sting stink stride strike string strive swear sweat sweep swell swim swing take teach tear tell
    think throw thrust tread wake wear weave weep wet win wind wring write
"""
_NO_ED = re.compile(
    rf"(a|be|breast|for|fore|in|mis|off|out|over|par|proof|re|un|under|up|with)*({'|'.join(_NO_ED_ROOTS.split())})"
)
_SHORT = re.compile(r"(?:[^aeiou]|qu)*[aeiou][bdgklmnprtv]")  # a syllable whose last letter is doubled: "stop"
_LONGER = re.compile(r".*[aeiouy].*(?:[^aeiou]|qu)[aeiou][bdglmnprt]")  # where the accent decides: "visit", "permit"

# Strong and mixed German verbs, with a prefix too: their participle follows no rule, nor does the third person of those
# with a, e or o.
_STRONG_ROOTS = """
    backen beißen bergen bersten biegen bieten binden bitten blasen bleiben braten brechen brennen bringen bären
    deihen denken dreschen drießen dringen essen fahren fallen fangen fechten fehlen finden flechten fliegen
    fliehen fließen fressen frieren geben gehen gelten gessen gießen ginnen gleichen gleiten graben greifen
    halten hauen heben heißen helfen hängen kennen klimmen klingen kneifen kommen kriechen laden lassen laufen
    leiden leihen lesen liegen lieren lingen löschen lügen mahlen meiden melken messen nehmen nennen nesen
    nießen pfeifen preisen quellen raten reiben reiten reißen rennen riechen ringen rinnen rufen salzen saufen
    saugen schaffen schehen scheiden scheinen schelten scheren schieben schießen schinden schlafen schlagen
    schleichen schleifen schleißen schließen schlingen schmeißen schmelzen schneiden schrecken schreiben
    schreien schreiten schweigen schwellen schwimmen schwinden schwingen schwören sehen senden singen sinken
    sinnen sitzen spalten speien spinnen sprechen sprießen springen stechen stehen stehlen steigen sterben
    stinken stoßen streichen streiten tragen treffen treiben treten trinken trügen verderben wachsen waschen
    weben wegen weichen weisen wenden werben werfen wiegen winden winnen wringen wägen zeihen ziehen zwingen
"""
_STRONG = re.compile(rf"(be|emp|ent|er|ge|miss|ver|zer)*({'|'.join(_STRONG_ROOTS.split())})")
# Auxiliaries, and verbs whose infinitive is an article or a possessive far more often.
_LEFT_OUT = {
    "sein", "haben", "werden", "tun", "wissen", "wollen", "sollen", "können", "mögen", "müssen", "dürfen",
    "vermögen", "bedürfen", "einen", "meinen",
}  # fmt: skip
_FIRST_PARTS = """
    ab an auf aus bei dar ein empor entgegen fehl fern fest fort frei gegenüber heim her hin hoch kaputt klar
    los mit nach nieder statt teil tot vor weg weiter zu zurecht zurück zusammen durch hinter über um unter voll
    wider wieder kennen wahr sicher irre offen nahe gleich bekannt bereit fertig lahm still stand(?=halten)
    schwer leicht groß gut schief raus rein(?!ig) runter rum rauf rüber davon dazu dazwischen entlang
    rad(?=fahren) bloß preis(?=geben)
"""
_APART = re.compile(rf"({'|'.join(_FIRST_PARTS.split())})+[a-zäöüß]*[aeiouäöü][a-zäöüß]*(en|eln|ern)")
_NO_GE = re.compile(
    r"(be(?!i[^nr]|u[^nr])|ge(?![iu])|er|ver|zer|ent|emp|miss)[a-zäöüß]*[aeiouäöü][a-zäöüß]*"
    r"|(interview|recyc|prophezei|miau|trompet|design)[a-z]*"
)
_WITH_E = re.compile(r"(d|t|[^e]i|[^aeiouäöülrhmn][mn]|ch[mn])$")
_WITH_SEIN = {
    "altern", "begegnen", "eilen", "emigrieren", "entgleisen", "erblinden", "erkranken", "erröten", "ersticken",
    "erwachen", "explodieren", "flattern", "flüchten", "folgen", "gelangen", "huschen", "hüpfen", "joggen", "kentern",
    "klettern", "kollidieren", "krabbeln", "landen", "marschieren", "passieren", "platzen", "radeln", "rasen", "reisen",
    "rudern", "rutschen", "scheitern", "schlendern", "schlüpfen", "segeln", "spazieren", "stolpern", "stranden",
    "stürzen", "taumeln", "verdampfen", "verdunsten", "verdursten", "verhungern", "verreisen", "verwelken", "wandern",
}  # fmt: skip
_WITH_ETRE = {
    "arriver", "entrer", "monter", "passer", "rentrer", "rester", "remonter", "retourner", "retomber", "tomber",
}  # fmt: skip
_FRENCH_CHANGING = re.compile(r"([eé]([bcdfghjklmnpqrstvwxz]|[bcdfgptv][rl]|ch|gn|[gq]u)er|yer)$")


@dataclass(frozen=True)
class Verb:
    """A verb in both languages: the forms that are sure, by the places that they fill."""

    english: Forms
    target: Forms


def verbs_of(words: Iterable[tuple[str, str]], texts: Iterable[tuple[str, str]], language: str) -> list[Verb]:
    """Return the verbs among a dictionary's pairs of words, each English one once.

    words: pairs such as ("to jump", "springen"); what is more than a word is left out. Of several translations it is
    the one whose forms stand most often in `texts`, and of these the first. Raises DataError for another language than
    German and French.
    """
    grammar_of(language)
    forms_of = {"German": german_forms, "French": french_forms}[language]
    seen = Counter(word for _, target in texts for word in _LETTERS.findall(target.lower()))
    found: dict[str, list[Forms]] = {}
    for english, target in words:
        verb = _VERB.fullmatch(english)
        if verb and _LETTERS.fullmatch(target) and verb[1] not in _NOT_LIKE_OTHERS and (forms := forms_of(target)):
            found.setdefault(verb[1], []).append(forms)
    return [
        Verb(english_forms(verb), max(forms, key=lambda each: sum(seen[form] for form in set(each.values()))))
        for verb, forms in found.items()
    ]


def read_verb_frames(language: str) -> tuple[tuple[str, str], ...]:
    """Return the frames for "German" or "French"; raises DataError for another language."""
    return read_frames(language, "verb_frames")


def make_verb_sentences(verbs: Sequence[Verb], language: str, looks: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield pairs of sentences, in each of `looks` rounds one for each of `verbs`; the same ones for the same seed."""
    rng = random.Random(seed)
    frames = [(frame, _places(frame[0]), _places(frame[1])) for frame in read_verb_frames(language)]
    fitting = [
        (verb, [frame for frame, ours, theirs in frames if ours <= set(verb.english) and theirs <= set(verb.target)])
        for verb in verbs
    ]
    for _ in range(looks):
        for verb, suitable in rng.sample(fitting, len(fitting)):
            english, target = rng.choice(suitable)
            yield _filled(english, verb.english), _filled(target, verb.target)


def english_forms(verb: str) -> Forms:
    """Return an English verb's forms: its base, with s, and, where the rule is sure, with ing and ed."""
    is_y = re.search(r"[^aeiou]y$", verb)
    s = f"{verb[:-1]}ies" if is_y else verb + ("es" if re.search(r"(s|x|z|ch|sh|[^o]o)$", verb) else "s")
    forms = {"base": verb, "s": s}
    if _LONGER.fullmatch(verb):
        return forms
    stem = f"{verb}k" if re.search(r"[aeiou]c$", verb) else verb + verb[-1] if _SHORT.fullmatch(verb) else verb
    if verb.endswith("ie"):
        forms["ing"] = f"{verb[:-2]}ying"
    else:
        forms["ing"] = (verb[:-1] if re.search(r"[^eoy]e$", verb) else stem) + "ing"
    if not _NO_ED.fullmatch(verb):
        forms["ed"] = f"{verb[:-1]}ied" if is_y else f"{verb}d" if verb.endswith("e") else f"{stem}ed"
    return forms


def german_forms(infinitive: str) -> Forms:
    """Return a German verb's forms; none for what is left out and for what is no verb."""
    if infinitive in _LEFT_OUT or not re.search(r"(en|eln|ern)$", infinitive):
        return {}
    forms = {"infinitive": infinitive, "noun": infinitive.capitalize()}
    if _APART.fullmatch(infinitive):
        return forms
    forms["whole"] = infinitive
    stem = re.sub(r"(en|(?<=el)n|(?<=er)n)$", "", infinitive)
    third = f"{stem}et" if _WITH_E.search(stem) else f"{stem}t"
    is_strong = _STRONG.fullmatch(infinitive)
    if not is_strong or not re.search(r"([ao]|(?<!i)e|au)[^aeiouäöü]+$", stem):
        forms["she"] = third
    if not is_strong and infinitive not in _WITH_SEIN:
        root = re.sub(r"(en|eln|ern)$", "", infinitive)
        has_ge = not re.search(r"[aeiouyäöü].*ieren$", infinitive) and not _NO_GE.fullmatch(root)
        forms["done"] = f"ge{third}" if has_ge else third
    return forms


def french_forms(infinitive: str) -> Forms:
    """Return a French verb's forms: of most in -er all, of others the infinitive; none for what is no verb."""
    if not re.search(r"(er|ir|re)$", infinitive):
        return {}
    forms = {"infinitive": infinitive, "noun": infinitive}
    if infinitive.endswith("er") and infinitive != "aller" and not _FRENCH_CHANGING.search(infinitive):
        stem = infinitive[:-2]
        forms |= {"she": f"{stem}e", "they": f"{stem}ent"}
        if infinitive not in _WITH_ETRE:
            forms["done"] = f"{stem}é"
    return forms


def _places(side: str) -> set[str]:
    return set(PLACE.findall(side))


def _filled(side: str, forms: Forms) -> str:
    return capital(PLACE.sub(lambda place: forms[place[1]], side))
