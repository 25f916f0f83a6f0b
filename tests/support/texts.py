"""Sentences for the laws of captions, and awkward texts for tokenizers."""

import random
from collections.abc import Callable, Sequence

# Ordinary sentences, and texts that visitors type to see what happens.
SENTENCES = (
    *("I love my teacher.", "Where is my cat?", "He bought a ticket at the train station.", "She reads a book."),
    *("I can't swim, and I don't want to learn it.", "Tom climbed over the wall.", "My dog has fleas.", "Yes.", "No!"),
    *("The old man saw the old dog and the old cat.", "no no no no no no", "Tom Tom Tom", "a", "?", ".", "...", "I"),
    *("\U0001f600 cat", "\U0001f600", "Привет, мир", 'x < y & z > "w"', "<b>bold</b> and `code` and $x^2$"),
    *("1 + 1 = 2", "We have to go now.", "They were late again.", "What time is it?", "Do you know her?"),
    *("It was raining, but we went.", "If I had known, I would have come."),
    *("The book that you gave me is on the table.", "Nobody knows why he left."),
    "Machine learning models are trained on large amounts of data.",
    *("The animal didn't cross because it was tired.", "Open the window, please.", "How many people live here?"),
    *("I've never been so happy in my life!", "Mary's car", "Ich liebe meinen Lehrer."),
    *("e\u0301te\u0301 naïve café", "word " * 60),
)

# Words, scripts, emoji, digits and signs of compatibility.
_WORDS, _OTHER_SCRIPTS, _EMOJI, _DIGITS, _COMPATIBLE = map(
    str.split,
    (
        "red dog old green bird house small blue car the cat runs it's we'll café naïve STRASSE Straße don't",
        "Привет 日本語 テスト 中文字符 한국어 각 हिन्दी ไทย ქართული Ελληνικά ἀρχή",
        "👩‍👩‍👧‍👦 👨🏽‍🚀 🏳️‍🌈 🇩🇪🇫🇷 👍🏿 1️⃣ 😀 ❤️‍🔥 🧑‍🤝‍🧑 🏴󠁧󠁢󠁳󠁣󠁴󠁿 ☺ ☺️",
        "0123 ٠١٢٣ ۴۵۶ ०१२ ๑๒๓ １２３ ²³¹ ½¾ Ⅷⅻ ①⑳ 𝟘𝟙𝟚 三百 1.234,5 1e-9",
        "ﬁﬂﬃ Å ﾊﾝｶｸ ㎏ ℃ № ™ ǆ ſ 𝐛𝐨𝐥𝐝 𝔣𝔯𝔞𝔨 ㍿ ＡＢＣ ｡ … ‥",
    ),
)
_MARKS = "\u0301\u0308\u0327\u0323\u20dd\ufe0f\u0489"  # combining, a variation selector among them
_BLANKS = " \t\n\r\u00a0\u2002\u2003\u2009\u200a\u202f\u205f\u3000\u1680\u2028\u2029\x85\x0b\x0c"
_UNSEEN = "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\u202a\u202b\u202c\u202e\u2066\u2069\u061c"
_CONTROLS = "".join(map(chr, (*range(1, 32), *range(127, 160))))
_RIGHT_TO_LEFT = ("שלום עולם", "מה שלומך?", "مرحبا بالعالم", "اَلْعَرَبِيَّة", "فارسی ۱۲۳", "ܫܠܡܐ", "ދިވެހި")
# Parts of special tokens: whole ones are text here and special in transformers.
_SIGNS = (
    *("<pad", "/s>", "< s >", "<UNK>", "<masks>", "▁", "▁▁a", "a▁b", "> >", "<<", "__e", "eng_", "_Latn", "en-XX"),
    "&lt;",
)
_PUNCTUATION = "-–—―‐‑’‘“”„«»‹›`´^~|\\/@#$%&*()[]{}<>=+_,.;:!?¡¿§¶†•"


def awkward_texts(number: int = 500, seed: int = 1) -> list[str]:
    """That many texts, no two alike: of every kind below in turn, each wound up with ordinary words."""
    chance, texts = random.Random(seed), dict[str, None]()
    while len(texts) < number:
        make = _KINDS[len(texts) % len(_KINDS)]
        texts[make(chance)] = None
    return list(texts)


def _among(signs: Sequence[str], most: int = 6) -> Callable[[random.Random], str]:
    """Words, and between, in or around them some of these signs."""

    def make(chance: random.Random) -> str:
        parts = [chance.choice(signs) for _ in range(chance.randint(1, most))]
        parts += [chance.choice(_WORDS) for _ in range(chance.randint(0, 5))]
        chance.shuffle(parts)
        return chance.choice(("", " ", " ", "  ")).join(parts)

    return make


def _marked(chance: random.Random) -> str:
    word = " ".join(chance.choice(_WORDS) for _ in range(chance.randint(1, 4)))
    return "".join(each + "".join(chance.choices(_MARKS, k=chance.choice((0, 0, 1, 2, 5)))) for each in word)


def _long_run(chance: random.Random) -> str:
    sign = chance.choice(("a", "aB", "!", ".", "-", "字", "😀", "=", "é", "1", "ha", "\u0301", " ", "\u00a0"))
    return chance.choice(("", "red ")) + sign * chance.randint(20, 120) + chance.choice(("", " dog"))


def _anything(chance: random.Random) -> str:
    """Characters of any plane but halves of pairs, which are none, and NUL, with which a text ends for some."""
    planes = ((0x20, 0x7F), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x1FFF), (0x2000, 0xD7FF), (0xE000, 0x1FFFF))
    spans = (chance.choice(planes) for _ in range(chance.randint(1, 25)))
    return "".join(chr(chance.randrange(*span)) for span in spans)


def _mixed(chance: random.Random) -> str:
    kinds = chance.choices((_marked, _among(_BLANKS), _among(_EMOJI), _among(_RIGHT_TO_LEFT), _anything), k=3)
    return chance.choice(("", " ", "\u00a0")).join(kind(chance) for kind in kinds)


_KINDS = (
    _marked,
    _long_run,
    _anything,
    _mixed,
    *map(_among, (_BLANKS, _UNSEEN, _CONTROLS, _RIGHT_TO_LEFT, _OTHER_SCRIPTS, _EMOJI, _DIGITS, _COMPATIBLE)),
    *map(_among, (_SIGNS, _PUNCTUATION)),
)
