"""Power of a comparison of two groups by the quiz before and after: how many students does it take?

    python examples/quiz_power.py --gains 0.37 0.19 --groups 30 60 100

A student knows an item with a chance that differs from student to student; the lesson turns the share `gain` of the
rest into knowledge. The analysis is Welch's test of the mean change in both groups, two-sided, at 5 %.
"""

import argparse

import numpy as np

TRIALS, CRITICAL = 4000, 1.96


def power(students: int, options: argparse.Namespace) -> float:
    """Return the share of trials in which groups of so many students differ significantly."""
    generator, means, variance = np.random.default_rng(students), [], 0.0
    for gain in options.gains:
        chance = np.clip(generator.normal(options.before, options.spread, (TRIALS, students)), 0.02, 0.98)
        after = generator.binomial(options.items, chance + gain * (1 - chance))
        change = (after - generator.binomial(options.items, chance)) / options.items
        means.append(change.mean(axis=1))
        variance = variance + change.var(axis=1, ddof=1) / students
    return float((np.abs(means[0] - means[1]) > CRITICAL * np.sqrt(variance)).mean())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gains", nargs=2, type=float, default=(0.37, 0.19), help="of both groups")
    parser.add_argument("--before", type=float, default=0.30, help="mean share of right answers before")
    parser.add_argument("--spread", type=float, default=0.10, help="its standard deviation over students")
    parser.add_argument("--items", type=int, default=6, help="items before, and as many after")
    parser.add_argument("--groups", nargs="+", type=int, default=(30, 60, 100, 150), help="students per group")
    for count in parser.parse_args().groups:
        print(f"{count:>4} students per group: power {power(count, parser.parse_args()):.2f}")
