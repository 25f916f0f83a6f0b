"""Routes for the components' JavaScript, which a browser fetches once.

Streamlit sends a component's script again with all its data: most of a page's bytes. So the script is three lines that
import the bundle. Its address has the hash of the content, is cached for good, and is relative to Streamlit's own
scripts: below a base path, and behind a proxy that removes one.

    GET  /modules/FOLDER/NAME-HASH.js
"""

import hashlib
import re
from functools import cache

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from streamlit import config
from streamlit.url_util import make_url_path

from headlight.language import LANGUAGES, language, speaking

from .bundle import FOLDER, bundle

_ENTRY = re.compile(r"[a-z_]+/[a-z_]+")
_HEADERS = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
_LOADER = """const streamlit = document.querySelector("script[src*='static/js/']").src;
const { default: component } = await import(new URL("../../%s", streamlit));
export default component;
"""
_served: list[Route] = []  # of this process, if it has such routes


def module_routes() -> list[Route]:
    """Return the routes below the server's base path, from which components are loaded from now on."""
    path = make_url_path(config.get_option("server.baseUrlPath") or "", "modules/{folder}/{name}-{digest}.js")
    _served[:] = [Route(path, _answer)]
    return list(_served)


def script(entry: str) -> str:
    """Return the JavaScript of a component for Streamlit: an import of its address, or without routes its bundle."""
    return _LOADER % address(entry) if _served else text(entry)


def address(entry: str) -> str:
    """Return the address of a component's bundle in the language of the interface, relative to the app's."""
    digest = hashlib.sha256(text(entry).encode()).hexdigest()[:16]
    return f"modules/{entry}-{digest}.js"


def text(entry: str) -> str:
    """Return a component's bundle in the language of the interface."""
    return _text(entry, language())


@cache
def _text(entry: str, interface: str) -> str:
    with speaking(interface):
        return bundle((FOLDER / entry).with_suffix(".js"))


def _answer(request: Request) -> Response:
    """Return a bundle of the requested version; any replica has it, whether or not it has shown the component."""
    folder, name, digest = (request.path_params[part] for part in ("folder", "name", "digest"))
    entry = f"{folder}/{name}"
    is_component = _ENTRY.fullmatch(entry) and all(
        (FOLDER / entry).with_suffix(part).is_file() for part in (".html", ".js")
    )
    for each in LANGUAGES if is_component else ():
        with speaking(each):
            if address(entry) == f"modules/{entry}-{digest}.js":
                return Response(text(entry), media_type="text/javascript", headers=_HEADERS)
    return PlainTextResponse("There is no such module.", 404)
