"""A component's JavaScript at an address of its own, which a browser fetches once.

Streamlit sends what a component is made of again with all data that it gets: most of a page's bytes. So it is given
three lines in place of its bundle. Their address names the content by its hash, is kept for good, and is found from
where the browser has Streamlit's own scripts: below a base path, and behind a proxy that takes one away.

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

from .bundle import FOLDER, bundle

_ENTRY = re.compile(r"[a-z_]+/[a-z_]+")
_HEADERS = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
_LOADER = """const streamlit = document.querySelector("script[src*='static/js/']").src;
const { default: component } = await import(new URL("../../%s", streamlit));
export default component;
"""
_served: list[Route] = []  # once there are such routes in this process


def module_routes() -> list[Route]:
    """Return the routes below the server's base path, and let components be loaded from them from now on."""
    path = make_url_path(config.get_option("server.baseUrlPath") or "", "modules/{folder}/{name}-{digest}.js")
    _served[:] = [Route(path, _answer)]
    return list(_served)


def script(entry: str) -> str:
    """Return what Streamlit gets as a component's JavaScript, by its entry: where no route serves it, its bundle."""
    return _LOADER % address(entry) if _served else text(entry)


def address(entry: str) -> str:
    """Return where a component's bundle is, below the app's own address."""
    digest = hashlib.sha256(text(entry).encode()).hexdigest()[:16]
    return f"modules/{entry}-{digest}.js"


@cache
def text(entry: str) -> str:
    """Return a component's bundle."""
    return bundle((FOLDER / entry).with_suffix(".js"))


def _answer(request: Request) -> Response:
    """Return a bundle. Any replica has it, whether or not it has shown the component: the hash tells the version."""
    folder, name, digest = (request.path_params[part] for part in ("folder", "name", "digest"))
    entry = f"{folder}/{name}"
    is_component = _ENTRY.fullmatch(entry) and all(
        (FOLDER / entry).with_suffix(part).is_file() for part in (".html", ".js")
    )
    if not is_component or address(entry) != f"modules/{entry}-{digest}.js":
        return PlainTextResponse("There is no such module.", 404)
    return Response(text(entry), media_type="text/javascript", headers=_HEADERS)
