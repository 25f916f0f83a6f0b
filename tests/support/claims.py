"""How the laws of sentences read a number back, and how far a printed one may be from the true one."""

import re

from headlight.app.finding import Finding

from .pages import check_headline


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
