"""What was skipped of a corpus: how much, why, and where."""

from collections.abc import Sequence

_SHOWN = 5  # line numbers named a reason


class Skipped:
    """Counts lines by the reason why they were skipped; true when there is one."""

    def __init__(self):
        self._lines: dict[str, list[int | None]] = {}

    def add(self, reason: str, line: int | None) -> None:
        """Count a line, by its number in its file from 1 where that is known; `reason` follows "3 lines" in words."""
        self._lines.setdefault(reason, []).append(line)

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def report(self) -> str:
        """Such as "3 lines: 1 without a tab (line 2), 2 with an empty side (lines 5, 8)"; empty when there is none."""
        if not self:
            return ""
        reasons = ", ".join(f"{len(lines)} {reason}{_places(lines)}" for reason, lines in self._lines.items())
        return f"{len(self)} {'line' if len(self) == 1 else 'lines'}: {reasons}"


def first_of(lines: Sequence[int], most: int) -> str:
    """The first line numbers, and that there are more: "2, 5, 8, …"."""
    return ", ".join(map(str, lines[:most])) + (", …" if len(lines) > most else "")


def _places(lines: list[int | None]) -> str:
    known = [line for line in lines if line is not None]
    if not known:
        return ""
    return f" ({'line' if len(known) == 1 else 'lines'} {first_of(known, _SHOWN)})"
