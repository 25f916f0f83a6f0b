"""What holds for every law of sentences: no headline that it comes across is longer than a projector's line."""

import pytest
from support.pages import check_headline

from headlight.app.finding import Finding


@pytest.fixture(autouse=True)
def _short_headlines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the headline of every finding that is made while a law runs, over all its traces and made cases."""
    make = Finding.__init__

    def made(self: Finding, headline: str, more: str = "") -> None:
        make(self, headline, more)
        check_headline(headline)

    monkeypatch.setattr(Finding, "__init__", made)
