"""Headlines of every view: at most twelve words, with tokens as they are displayed."""

import importlib
import re

import pytest
from support.pages import ROOT, check_headline, headlines, open_page, page_text, specs

MODULES = {"home": "headlight.views.home", "lessons": "headlight.lessons.page"}
# Views that state findings only in the browser, or once the visitor has started or changed something.
SILENT = {
    "attention": ("explorer", "one head"),
    "decoding": ("step by step",),
    "home": ("",),
    "inside": ("step by step", "small example", "architecture"),
    "lessons": ("lessons", "for the teacher", "a class"),
    "research": ("atlas",),
    "training": ("train live", "compare runs"),
    "what_if": ("head ablation", "rewrite attention"),
}
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
VIEWS = [
    (page, view)
    for page in PAGES
    for view in getattr(importlib.import_module(MODULES.get(page, f"headlight.views.{page}.page")), "VIEWS", [""])
]


@pytest.mark.parametrize(("page", "view"), VIEWS)
def test_a_view_states_its_findings_in_short_headlines(page, view):
    app = open_page(f"pages/{page}.py", **({("decoding_view" if page == "decoding" else page): view} if view else {}))
    captions = [spec["layout"]["meta"]["caption"] for spec in specs(app)]
    assert not re.search(r"▁|</s>|<s>|<pad>|<unk>|\\", "\n".join([page_text(app), *captions]))
    assert bool(headlines(app)) == (view not in SILENT.get(page, ()))
    for headline in headlines(app):
        check_headline(headline)
