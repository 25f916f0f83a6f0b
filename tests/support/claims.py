"""How the laws of sentences read a number back, and how far a printed one may be from the true one."""

import re
from collections.abc import Sequence

import numpy as np

from headlight.app.finding import Finding

from .pages import check_headline
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


def told(finding: Finding) -> str:
    """Return all that a finding says; its headline is a sentence of at most 12 words."""
    check_headline(finding.headline)
    assert finding.headline.endswith("."), finding.headline
    return str(finding)


_MOVED = re.compile(r"log P(?: of the (?:old )?translation)?(?: (falls|rises) by (\S+) nats| stays as it is|\.)")
_SHARE = re.compile(r": “([^”]+)”(?: \(output token (\d+)\))? (loses|gains) most, (\S+) nats")
_REST = re.compile(r", and all others together (lose|gain) ([\d.]+\d)")


def check_moved(text: str, losses: np.ndarray, tokens: Sequence[str]) -> None:
    """Hold what is said of a change of log P to what each token lost.

    The token named moved most in the direction of the whole, and what it and all others moved is the whole: a part
    greater than that comes with what goes the other way.
    """
    total, ways = float(losses.sum()), {"loses": 1, "lose": 1, "falls": 1, "gains": -1, "gain": -1, "rises": -1}
    way, size = _MOVED.search(text).groups()
    whole = ways[way] * number(size) if way else 0.0
    assert abs(whole - total) < 0.0051 and bool(way) == bool(whole), text
    named, others = _SHARE.search(text), _REST.search(text)
    rivals = losses * np.sign(whole) if whole else np.abs(losses)
    if not named:
        assert rivals.max() < 0.0051, f"{text}: nobody is named"
        return
    at, most = place_of(tokens, named[1], named[2]), ways[named[3]] * number(named[4])
    assert abs(most - losses[at]) < 0.0051 and abs(losses[at]) > 0.0049, text
    assert np.sign(whole) in (0, np.sign(most)), f"{text}: the whole goes the other way"
    assert abs(losses[at]) > rivals.max() - 0.0051, f"{text}: another moved more"
    rest = ways[others[1]] * number(others[2]) if others else 0.0
    assert abs(rest - (total - losses[at])) < 0.0101 and abs(most + rest - whole) < 0.0151, text
    assert others or abs(most) <= abs(whole), f"{text}: a part is more than the whole"


def check_sums(text: str, old: float, new: float) -> None:
    """Hold "it goes from −3.45 to −4.53" or "stays at −3.45" to log P of both runs: what moves are two numbers."""
    way = re.search(r"it (?:goes from (\S+) to|stays at) (\S+?)[.:](?: |$)", text)
    before, after = map(number, way.groups(way[2]))
    assert abs(before - old) < 0.0051 and abs(after - new) < 0.0101, text
    assert bool(way[1]) == (before != after), text
    assert abs(old - new) > 0.0049 if way[1] else abs(old - new) < 0.0051, text
