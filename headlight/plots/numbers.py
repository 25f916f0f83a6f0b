"""Numbers as text, in figures and sentences."""

import math

import numpy as np

from headlight.language import convention, number

LEAST_SHOWN = 0.005  # nats, or a share: two digits do not show less
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def pluralize(count: int, noun: str) -> str:
    """Return a number with its noun: "1 head", "8 heads", "8,000 tokens"."""
    return f"{number(f'{count:,}')} {noun}{'' if count == 1 else 's'}"


def signed(value: float, digits: int = 4) -> str:
    """Return a number with a true minus sign, and zero without one."""
    text = f"{value:.{digits}f}"
    return number(text.lstrip("-") if not text.strip("-0.") else text.replace("-", "−"))


def factor(value: float, digits: int = 1) -> str:
    """Return a number within a sum or a product: a negative one in brackets."""
    text = signed(value, digits)
    return f"({text})" if text.startswith("−") else text


def scientific(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits and a power of ten: 6.99·10⁻⁴; 0 for exactly 0."""
    if not value:
        return "0"
    factor, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{number(factor)}·10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def format_error(value: float) -> str:
    """Return a numerical error with one digit: 6·10⁻⁸; 0 for exactly 0."""
    return scientific(value, digits=1)


def percent_in_cell(share: float) -> str:
    """Return a share in whole percent without the sign, for a small cell: "94"."""
    return f"{share * 100:.0f}"


def two_digits(value: float) -> str:
    """Return a value for a small cell: ".59", "−.12", "2.2", "11"; "0" for a value that rounds to nothing."""
    if abs(value) < LEAST_SHOWN:
        return "0"
    if abs(value) < 0.995:
        return signed(value, 2).replace("0", "", 1)
    return signed(value, 1 if abs(value) < 9.95 else 0)


def percent(share: float) -> str:
    """Return a share in whole percent; "under 1 %" and "over 99 %" where rounding would claim too much."""
    if 0 < share < 0.01:
        return str(convention("under"))
    if 0.995 <= share < 1:
        return str(convention("over"))
    return number(f"{math.floor(float(share) * 100 + 0.5)} %")  # halves go up, as in JavaScript


def format_probability(probability: float) -> str:
    """Return a probability in percent with one decimal, small ones with one digit; never rounded to 0 or 1."""
    probability = float(probability)  # float32 would round once more, at 100 times the probability
    if probability > 0.999:
        return number("> 99.9 %")
    if probability < 1e-6:
        return number("< 0.0001 %")
    digits = 1 if probability >= 0.001 else -int(np.floor(np.log10(probability))) - 2
    return number(f"{probability * 100:.{digits}f} %")
