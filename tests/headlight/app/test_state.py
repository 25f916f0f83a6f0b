"""The register of URL parameters: every widget takes its name from it, and every example address opens."""

import re
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from support.pages import ROOT, check_headline, headlines, open_page, page_text, payload, specs
from support.source_files import files

from headlight.app.parameters import PARAMETERS

LINES = (Path(__file__).parent / "addresses.txt").read_text(encoding="utf-8").splitlines()
ADDRESSES = [line for line in LINES if not line.startswith("#")]


def query_of(address: str) -> dict[str, list[str]]:
    return parse_qs(address.partition("?")[2], keep_blank_values=True)


def test_the_example_addresses_have_every_parameter_and_every_page():
    assert {name for address in ADDRESSES for name in query_of(address)} == set(PARAMETERS)
    assert {address.partition("?")[0] for address in ADDRESSES} == {path.stem for path in files("pages")}


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_opens_keeps_its_values_and_has_short_headlines(address):
    """An invalid value, or a default, would leave the address."""
    query = {name: values if len(values) > 1 else values[0] for name, values in query_of(address).items()}
    app = open_page(f"pages/{address.partition('?')[0]}.py", **query)
    for name, value in query.items():
        assert app.query_params.get(name, PARAMETERS[name].default) == value, name
    assert not app.exception and not app.error
    for headline in headlines(app):
        check_headline(headline)
    captions = [spec["layout"]["meta"]["caption"] for spec in specs(app)]
    assert not re.search(r"▁|</s>|<s>|<pad>|<unk>|\\", "\n".join([page_text(app), *captions])), "raw tokens"


def test_a_page_restores_its_values_after_another_page_alone():
    app = open_page("pages/decoding.py", step="3")
    for page in ("home", "decoding"):
        app.query_params.pop("step", None)  # Streamlit drops it with the page
        app.switch_page(str(ROOT / "pages" / f"{page}.py")).run()
    assert payload(app)["step"] == 3 and app.query_params["step"] == "3"
    app.query_params.pop("step")
    assert "step" not in app.run().query_params, "the visitor has gone back to an address without it"
