"""Power of a comparison of two groups by the quiz before and after: how many students does it take?

    python examples/quiz_power.py                       # six items before and six after, gains of 0.37 against 0.19
    python examples/quiz_power.py --gains 0.5 0.3 --groups 20 40 80

A student knows an item with a chance that differs from student to student; the lesson turns the share `gain` of what
is missing into knowledge. The analysis is fixed: Welch's test of the mean change in both groups, two-sided, at 5 %.
"""

import argparse
from statistics import NormalDist

import numpy as np

TRIALS = 4000
LEVEL = 0.05


def changes(
    generator: np.random.Generator, shape: tuple[int, int], gain: float, before: float, spread: float, items: int
) -> np.ndarray:
    """Return the change of the share of right answers of students, [trials, students]."""
    knows = np.clip(generator.normal(before, spread, shape), 0.02, 0.98)
    first = generator.binomial(items, knows)
    last = generator.binomial(items, knows + gain * (1 - knows))
    return (last - first) / items


def power(students: int, gains: tuple[float, float], before: float, spread: float, items: int) -> float:
    """Return the share of trials in which groups of so many students differ significantly."""
    generator = np.random.default_rng(students)
    groups = [changes(generator, (TRIALS, students), gain, before, spread, items) for gain in gains]
    difference = groups[0].mean(axis=1) - groups[1].mean(axis=1)
    error = np.sqrt(sum(group.var(axis=1, ddof=1) / students for group in groups))
    return float((np.abs(difference) > NormalDist().inv_cdf(1 - LEVEL / 2) * error).mean())


def main() -> None:
    """Print the power for each size of a group."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gains", nargs=2, type=float, default=(0.37, 0.19), help="of both groups")
    parser.add_argument("--before", type=float, default=0.30, help="mean share of right answers before")
    parser.add_argument("--spread", type=float, default=0.10, help="its standard deviation over students")
    parser.add_argument("--items", type=int, default=6, help="items before, and as many after")
    parser.add_argument("--groups", nargs="+", type=int, default=(20, 30, 60, 100, 150), help="students per group")
    options = parser.parse_args()
    for students in options.groups:
        found = power(students, tuple(options.gains), options.before, options.spread, options.items)
        print(f"{students:>4} students per group: power {found:.2f}")


if __name__ == "__main__":
    main()
