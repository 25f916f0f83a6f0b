"""Addresses of the components' JavaScript: content, caching, and the script that Streamlit gets."""

from collections.abc import Iterator
from functools import partial

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit import config

from headlight.components import modules, show
from headlight.components.bundle import FOLDER, bundle

ENTRY = "token_lines/lines"
MOST_BYTES = 300  # in place of the bundle, with every message


@pytest.fixture
def client(monkeypatch) -> Iterator[TestClient]:
    """A client of the routes, from which components are loaded meanwhile."""
    monkeypatch.setattr(modules, "_served", [])
    show._declare.cache_clear()
    yield TestClient(Starlette(routes=modules.module_routes()))
    show._declare.cache_clear()


def test_a_bundle_is_served_and_cached_under_an_address_of_its_version(client, monkeypatch):
    address = modules.address(ENTRY)
    response = client.get(f"/{address}")
    assert response.status_code == 200 and response.text == bundle((FOLDER / ENTRY).with_suffix(".js"))
    assert response.headers["Content-Type"].startswith("text/javascript")
    assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    monkeypatch.setattr(modules, "text", lambda entry: "export default () => {};")
    assert modules.address(ENTRY) != address and client.get(f"/{address}").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "token_lines/lines-0000000000000000.js",
        "nothing/there-0000000000000000.js",
        "lib/controls-0000000000000000.js",  # HTML without JavaScript
        "..%2f..%2fapp/main-0000000000000000.js",
    ],
)
def test_nothing_else_is_served(client, path):
    assert client.get(f"/modules/{path}").status_code == 404


def test_routes_are_below_the_base_path(monkeypatch):
    monkeypatch.setattr(config, "get_option", {"server.baseUrlPath": "/school/app/"}.__getitem__)
    monkeypatch.setattr(modules, "_served", [])
    client = TestClient(Starlette(routes=modules.module_routes()))
    assert client.get(f"/school/app/{modules.address(ENTRY)}").status_code == 200
    assert client.get(f"/{modules.address(ENTRY)}").status_code == 404


def test_streamlit_gets_the_address_where_routes_serve_it_and_else_the_bundle(client, monkeypatch):
    options: dict = {}
    monkeypatch.setattr("streamlit.components.v2.component", lambda *names, **parts: partial(options.update, parts))
    show._declare(ENTRY)()
    assert modules.address(ENTRY) in options["js"] and len(options["js"]) < MOST_BYTES
    modules._served.clear()
    show._declare.cache_clear()
    show._declare(ENTRY)()
    assert options["js"] == bundle((FOLDER / ENTRY).with_suffix(".js"))
