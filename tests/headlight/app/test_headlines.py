"""What every view of every page says that it found: whole, in at most twelve words, and first one thing, and in words
that name tokens as they are shown.
"""

import importlib
import re

import pytest
from support.pages import ROOT, check_headline, headlines, open_page, page_text, specs

from headlight.views.inside.toy import MASKED_ROW
from headlight.views.positions.waves import NO_POSITIONS

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
MODULES = {"home": "headlight.views.home", "lessons": "headlight.lessons.page"}
# What says nothing of its own, or only in the browser, or once somebody has started or changed something.
SILENT = {
    ("home", ""),
    ("lessons", "lessons"),
    ("lessons", "for the teacher"),
    ("lessons", "a class"),
    ("attention", "explorer"),
    ("attention", "one head"),
    ("decoding", "step by step"),
    ("inside", "step by step"),
    ("inside", "small example"),
    ("inside", "architecture"),
    ("research", "atlas"),
    ("what_if", "head ablation"),
    ("what_if", "rewrite attention"),
    ("training", "train live"),
    ("training", "compare runs"),
}


def views() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        module = MODULES.get(page, f"headlight.views.{page}.page")
        found += [(page, view) for view in getattr(importlib.import_module(module), "VIEWS", [""])]
    return found


@pytest.mark.parametrize(("page", "view"), views())
def test_every_view_has_its_say_in_headlines_of_twelve_words(page, view):
    key = "decoding_view" if page == "decoding" else page
    app = open_page(f"pages/{page}.py", **({key: view} if view else {}))
    captions = [spec["layout"]["meta"]["caption"] for spec in specs(app)]
    told = "\n".join([page_text(app), *captions])
    assert not re.search(r"▁|</s>|<s>|<pad>|<unk>|\\", told), "tokens as they are shown, and no markup in captions"
    said = headlines(app)
    assert bool(said) == ((page, view) not in SILENT)
    for headline in said:
        check_headline(headline)


def test_what_is_always_the_same_is_as_short():
    for finding in (MASKED_ROW, NO_POSITIONS):
        check_headline(finding.headline)


def test_a_longer_one_is_noticed():
    check_headline("This sentence has exactly as many words as one may have here.")
    for headline in ("", " ", "This sentence has one word more than any headline on a page has."):
        with pytest.raises(AssertionError):
            check_headline(headline)
