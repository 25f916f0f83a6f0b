"""A component's JavaScript at an address of its own: what is served there, for how long, and what Streamlit gets."""

from collections.abc import Iterator
from functools import partial

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit import config

from headlight.components import modules, show
from headlight.components.bundle import FOLDER, bundle

ENTRY = "token_lines/lines"
MOST_BYTES = 300  # of what goes along with all data in place of the bundle


@pytest.fixture
def served(monkeypatch) -> Iterator[TestClient]:
    """What the server answers beside the app; components are loaded from it meanwhile."""
    monkeypatch.setattr(modules, "_served", [])
    show._declare.cache_clear()
    yield TestClient(Starlette(routes=modules.module_routes()))
    show._declare.cache_clear()


def test_a_bundle_is_served_whole_and_kept_for_good(served):
    answer = served.get(f"/{modules.address(ENTRY)}")
    assert answer.status_code == 200 and answer.text == bundle((FOLDER / ENTRY).with_suffix(".js"))
    assert answer.headers["Content-Type"].startswith("text/javascript")
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


def test_another_version_has_another_address(served, monkeypatch):
    before = modules.address(ENTRY)
    monkeypatch.setattr(modules, "text", lambda entry: "export default () => {};")
    assert modules.address(ENTRY) != before
    assert served.get(f"/{before}").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "modules/token_lines/lines-0000000000000000.js",
        "modules/token_lines/lines.js",
        "modules/token_lines/geometry-0000000000000000.js",
        "modules/nothing/there-0000000000000000.js",
        "modules/lib/controls-0000000000000000.js",  # HTML without JavaScript
        "modules/..%2f..%2fapp/main-0000000000000000.js",
        "modules/token_lines/..%2flib%2fmount-0000000000000000.js",
    ],
)
def test_nothing_else_is_served(served, path):
    assert served.get(f"/{path}").status_code == 404


def test_below_a_base_path_all_is_there_and_nothing_at_the_root(monkeypatch):
    get_option = config.get_option
    monkeypatch.setattr(
        config, "get_option", lambda name: "/school/app/" if name == "server.baseUrlPath" else get_option(name)
    )
    monkeypatch.setattr(modules, "_served", [])
    client = TestClient(Starlette(routes=modules.module_routes()))
    assert client.get(f"/school/app/{modules.address(ENTRY)}").status_code == 200
    assert client.get(f"/{modules.address(ENTRY)}").status_code == 404


def declared(monkeypatch) -> str:
    """The JavaScript that Streamlit gets for a component."""
    given = {}
    monkeypatch.setattr("streamlit.components.v2.component", lambda *names, **parts: partial(given.update, parts))
    show._declare.cache_clear()
    show._declare(ENTRY)()
    show._declare.cache_clear()
    return given["js"]


def test_streamlit_gets_the_address_in_place_of_the_bundle(served, monkeypatch):
    script = declared(monkeypatch)
    assert modules.address(ENTRY) in script and len(script) < MOST_BYTES


def test_without_such_routes_streamlit_gets_the_bundle(monkeypatch):
    monkeypatch.setattr(modules, "_served", [])
    assert declared(monkeypatch) == bundle((FOLDER / ENTRY).with_suffix(".js"))
