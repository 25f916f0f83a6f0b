"""Addresses of the components' JavaScript: content and caching."""

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit import config

from headlight.components import modules
from headlight.components.bundle import FOLDER, bundle

ENTRY = "token_lines/lines"


@pytest.fixture
def client(monkeypatch) -> TestClient:
    """A client of the routes."""
    monkeypatch.setattr(modules, "_served", [])
    return TestClient(Starlette(routes=modules.module_routes()))


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
