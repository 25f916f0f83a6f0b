"""What every view of every page says that it found: whole, in at most twelve words, and first one thing."""

import importlib

import pytest
from support.pages import ROOT, check_headline, headlines, open_page

from headlight.views.inside.toy import MASKED_ROW
from headlight.views.positions.content import NO_POSITIONS
from headlight.views.questions.content import QUESTIONS

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
# What says nothing of its own, or only in the browser, or once somebody has started or changed something.
SILENT = {
    ("home", ""),
    ("attention", "explorer"),
    ("inside", "step by step"),
    ("inside", "small example"),
    ("architecture", "diagram"),
    ("training", "train live"),
    ("training", "compare runs"),
}


def views() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        module = f"headlight.views.{page}" + ("" if page == "home" else ".page")
        found += [(page, view) for view in getattr(importlib.import_module(module), "VIEWS", [""])]
    return found


@pytest.mark.parametrize(("page", "view"), views())
def test_every_view_has_its_say_in_headlines_of_twelve_words(page, view):
    said = headlines(open_page(f"pages/{page}.py", **({page: view} if view else {})))
    assert bool(said) == ((page, view) not in SILENT)
    for headline in said:
        check_headline(headline)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_every_answer_has_one_headline(question):
    (headline,) = headlines(open_page("pages/questions.py", question=question.question))
    check_headline(headline)


def test_what_is_always_the_same_is_as_short():
    for finding in (MASKED_ROW, NO_POSITIONS):
        check_headline(finding.headline)


def test_a_longer_one_is_noticed():
    check_headline("This sentence has exactly as many words as one may have here.")
    for headline in ("", " ", "This sentence has one word more than any headline on a page has."):
        with pytest.raises(AssertionError):
            check_headline(headline)
