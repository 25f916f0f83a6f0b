"""A finding: the text of a figure about the example that it shows."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A headline of at most 12 words about the example in a figure, and the details behind "more"; as text, both."""

    headline: str
    more: str = ""

    def __str__(self) -> str:
        return f"{self.headline} {self.more}".rstrip()
