"""Templates of all views: each can be filled with any number, and no headline is longer than a projector's line."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest
from support.pages import ROOT, check_headline

from headlight.app.finding import Templates, TokenAt, short
from headlight.proofreading import fillings

VIEWS = {
    f"{path.parent.name}/{name}": Templates.beside(str(path.with_name(f"{name}.py")))
    for folder in ("app", "plots", "views")
    for path in (ROOT / "headlight" / folder).rglob("texts.toml")
    for name, view in tomllib.loads(path.read_text(encoding="utf-8")).items()
}


@pytest.mark.parametrize("view", VIEWS)
def test_every_template_can_be_filled_and_every_headline_is_short(view):
    templates = VIEWS[view]
    assert not templates.headlines.keys() & templates.texts.keys()
    for name, template in {**templates.headlines, **templates.texts}.items():
        forms = template.values() if isinstance(template, dict) else (template,)
        for numbers in (each for form in forms for each in fillings(form)):
            text = str(templates(name, **numbers))
            assert "{" not in text.replace("%{", "") and "  " not in text.replace("  \n", "\n"), text
            if name in templates.headlines:
                check_headline(text)
                assert text.endswith((".", "!")), text


def test_a_finding_knows_its_numbers_and_names_wherever_they_stand():
    texts = {"more": "In {parts:, }{aside}", "part": "{x:signed 1}"}
    templates = Templates(lambda: {"headlines": {"first": "{count:count row} of {token}."}, "texts": texts})
    parts = tuple(templates("part", x=x) for x in (0.25, -1.0))
    token = TokenAt(("▁a", "b", "▁a"), 2, "query")
    more = templates("more", parts=parts, aside=templates("part", x=3.0), hidden=7)
    finding = templates("first", count=1, token=token).followed_by(None, more)
    assert finding.headline == "1 row of “▁a” (query 3)." and finding.more == "In 0.2, −1.03.0"
    assert str(finding) == f"{finding.headline} {finding.more}"
    assert (finding["count"], finding["x"], finding["hidden"], finding["token"].position) == (1, 0.25, 7, 2)
    assert "part" in finding and "first" in finding and "other" not in finding
    with pytest.raises(KeyError):
        finding["other"]


def test_text_of_a_visitor_is_no_template_and_no_html():
    def page():
        from headlight.app.finding import Templates
        from headlight.app.widgets import show_finding

        templates = Templates(lambda: {"headlines": {"text": "It is {text}."}})
        show_finding(templates("text", text="{count:percent} <b>{0.__class__}"))

    (finding,) = AppTest.from_function(page, default_timeout=60).run().get("html")
    assert "It is {count:percent} &lt;b&gt;{0.__class__}." in finding.proto.body


@given(st.floats(1e-5, 1e9))
def test_a_short_number_is_near_its_value(value):
    text = short(value)
    assert float(text.replace(",", "")) == pytest.approx(value, rel=0.06) and len(text) < 14
