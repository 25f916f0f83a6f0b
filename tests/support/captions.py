"""Numbers and tokens as sentences print them, read back."""

import re
from collections.abc import Sequence

from support.pages import check_headline

from headlight.app.finding import Finding


def number(text: str) -> float:
    """A number as printed: a true minus sign, commas between thousands."""
    return float(text.replace("−", "-").replace(",", ""))


def as_printed(text: str, value: float) -> bool:
    """Whether `text` is `value` rounded to the digits that `text` has, give or take float32's own error."""
    decimals = len(text.partition(".")[2])
    return abs(number(text) - value) <= 0.5 * 10**-decimals + 1e-6 * max(1.0, abs(value))


def as_percent(text: str, share: float) -> bool:
    """Whether "37 %", "under 1 %", "over 99 %", "12.5 %", "< 0.0001 %" or "> 99.9 %" is true of a share."""
    value = 100 * share
    digits = re.fullmatch(r"(under |over |< |> )?([\d.,]+) %", text)
    assert digits, text
    bound, printed = digits[1], digits[2]
    if bound in ("under ", "< "):
        return 0 <= value < number(printed)
    if bound in ("over ", "> "):
        return number(printed) <= value <= 100 * (1 + 1e-6)
    return as_printed(printed, value)


PERCENT = r"(?:under |over |< |> )?[\d.,]+ %"

_DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
TINY = r"(?:[\d.]+·10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|0(?![\d.]))"


def scientific_number(text: str) -> float:
    """A number as printed with a power of ten: 6·10⁻⁸, or 0."""
    digits, _, power = text.partition("·10")
    return float(digits) * 10.0 ** int(power.translate(_DIGITS) or 0)


def as_scientific(text: str, value: float) -> bool:
    """Whether a value rounded to the digits that `text` has is that number."""
    digits, _, power = text.partition("·10")
    scale = 10.0 ** int(power.translate(_DIGITS) or 0)
    return (
        abs(float(digits) - value / scale) <= 0.5 * 10.0 ** -len(digits.partition(".")[2]) * (1 + 1e-6) + 1e-12 / scale
    )


def finding_text(finding: Finding) -> str:
    """Return all that a finding says; its headline is a sentence of at most 12 words."""
    check_headline(finding.headline)
    assert finding.headline.endswith("."), finding.headline
    return str(finding)


def place_of(tokens: Sequence[str], token: str, position: str | None) -> int:
    """Which token a caption means, from 0; one that stands several times has to come with its position."""
    if position is None:
        assert list(tokens).count(token) == 1, f"{token} is not one of its kind"
        return list(tokens).index(token)
    assert tokens[int(position) - 1] == token
    return int(position) - 1


def is_printed(words: str, probability: float) -> bool:
    """Whether these words stand for this probability: "12.3 %", "> 99.9 %"."""
    if words[0] in "<>":
        return probability < 1e-6 if words[0] == "<" else 0.999 < probability <= 1
    number = words.removesuffix(" %")
    return abs(float(number) - 100 * probability) <= 0.5 * 10.0 ** -len(number.partition(".")[2]) + 1e-6


TOKEN = r"“(.+?)”(?: \(position (\d+)\))?"  # two groups: the token and, where it is said, its position
