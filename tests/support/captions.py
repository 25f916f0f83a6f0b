"""Percentages as figures and pages print them."""

import re


def as_percent(text: str, share: float) -> bool:
    """Return whether "37 %", "under 1 %", "over 99 %", "12.5 %", "< 0.0001 %" or "> 99.9 %" is true of a share."""
    bound, digits = re.fullmatch(r"(under |over |< |> )?([\d.,]+) %", text).groups()
    value, printed = 100 * share, float(digits.replace(",", ""))
    if bound in ("under ", "< "):
        return 0 <= value < printed
    if bound in ("over ", "> "):
        return printed <= value <= 100 * (1 + 1e-6)
    return abs(printed - value) <= 0.5 * 10 ** -len(digits.partition(".")[2]) + 1e-6 * max(1.0, abs(value))
