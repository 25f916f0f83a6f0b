"""How the laws of sentences read a number back, and how far a printed one may be from the true one."""

import re
from collections.abc import Sequence

import numpy as np

from .traced import place_of


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


def check_moved(text: str, losses: np.ndarray, tokens: Sequence[str]) -> None:
    """Hold what is said of a change of log P to what each token lost; what is under 0.005 may go unsaid."""
    total, named = re.search(r"changes by (\S+) nats(, most at .*?\)(?=[.,] |\.?$))?", text).groups()
    assert abs(number(total) + losses.sum()) < 0.0051, text
    found = {}
    for token, position, size in re.findall(r"“([^”]+)”(?: \(output token (\d+)\))? \(([+−][\d.]+)\)", named or ""):
        at = place_of(tokens, token, position or None)
        found[size[0]] = -losses[at]
        assert abs(number(size) + losses[at]) < 0.0051, text
    for sign, extreme in (("−", losses.max()), ("+", -losses.min())):
        assert abs(found.get(sign, 0.0)) > extreme - 0.0051, f"{text}: more moved than is said"
