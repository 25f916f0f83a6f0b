"""BertViz's model_view on a local page: its scripts from npm, checked, and nothing from a CDN."""

import contextlib
import hashlib
import io
import sys
import tarfile
import threading
import types
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import torch

from transformer.interpret.trace import Trace

CACHE = Path.home() / ".cache" / "headlight-benchmarks"
# name -> version, the file in the package, and the SHA-512 of the package
SCRIPTS = {
    "d3": (
        "5.7.0", "dist/d3.min.js",
        "f0a1087f1f9d166f0f95b24df4f234b2e6b3ad9e3541c680b9fb0a13d3d172a6"
        "0f58b9e01c8c962595fdea7e8840a78f1a0792bb497baed96e79248dabc65cde",
    ),
    "jquery": (
        "2.2.4", "dist/jquery.min.js",
        "9411e3eb47b3722daed6fd85aa7648ada4a11a0117ab7e6a0b332fe25213c871"
        "a9a539c0d77af0474320c3234987d4e70ecdda5d4bddd718c0a2d7eb68c1d7fd",
    ),
    "requirejs": (
        "2.3.6", "require.js",
        "8a913395641ee912b78e4ce29200aea624db4ef9b84b4fc2014e46960a6d90de"
        "523ba177bb4503d0ad7cc32e84ac3aa20b23f82786187b51ee01286fb3178f2e",
    ),
}  # fmt: skip

# Its scripts are there before the data comes: what is timed is drawing alone. `show` resolves with milliseconds from
# the data's arrival to the frame in which every head stands.
_PAGE = b"""<!doctype html><meta charset="utf-8"><body></body><script src="/requirejs.js"></script><script>
require.config({ paths: { d3: "/d3", jquery: "/jquery" } });
require(["jquery", "d3"], () => (window.ready = true));
async function show(path, heads) {
  const html = await (await fetch(path)).text(), arrived = performance.now();
  document.body.innerHTML = html;
  for (const script of document.body.querySelectorAll("script:not([src])")) {
    const run = document.createElement("script");
    run.textContent = script.textContent;
    script.replaceWith(run);
  }
  return new Promise((done) => {
    const look = () => {
      if (document.querySelectorAll(".attn_background").length < heads) return requestAnimationFrame(look);
      painted(() => done(performance.now() - arrived));
    };
    look();
  });
}
</script>"""


def model_view_html(trace: Trace) -> bytes:
    """What model_view makes of a trace, all three kinds: its markup, its script, and the arrays as JSON."""
    try:
        import IPython.display  # noqa: F401
    except ImportError:
        sys.modules |= _instead_of_ipython()
    from bertviz import model_view

    maps = [[torch.tensor(layer)[None] for layer in part] for part in (trace.encoder, trace.decoder, trace.cross)]
    return model_view(
        encoder_attention=maps[0], decoder_attention=maps[1], cross_attention=maps[2],
        encoder_tokens=list(trace.source_tokens), decoder_tokens=list(trace.fed_tokens), html_action="return",
    ).data.encode()  # fmt: skip


@contextlib.contextmanager
def serve_files(views: dict[str, bytes]) -> Iterator[str]:
    """Serve the page, the scripts and these views by their paths; gives the address."""
    files = {"/": _PAGE, **{f"/{name}.js": _script(name) for name in SCRIPTS}, **views}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # noqa: N802, the name that http.server asks for
            content = files.get(self.path)
            self.send_response(200 if content else 404)
            self.send_header("Content-Type", "text/javascript" if self.path.endswith(".js") else "text/html")
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *arguments: object) -> None:
            """Nothing: the table is what is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def _script(name: str) -> bytes:
    """A script out of its package, from the cache or the npm registry; raises RuntimeError if it is another one."""
    version, member, expected = SCRIPTS[name]
    path = CACHE / f"{name}-{version}.tgz"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(f"https://registry.npmjs.org/{name}/-/{name}-{version}.tgz", timeout=60) as answer:
            path.write_bytes(answer.read())
    package = path.read_bytes()
    if hashlib.sha512(package).hexdigest() != expected:
        raise RuntimeError(f"{path} is not {name} {version}: delete it and try again")
    with tarfile.open(fileobj=io.BytesIO(package)) as archive:
        return archive.extractfile(f"package/{member}").read()


def _instead_of_ipython() -> dict[str, types.ModuleType]:
    """BertViz wraps its markup in a notebook's classes and needs nothing else of IPython."""

    class Wrapped:
        def __init__(self, data: str):
            self.data = data

    display = types.ModuleType("IPython.display")
    display.HTML = display.Javascript = Wrapped
    display.display = lambda *shown: None
    package = types.ModuleType("IPython")
    package.display = display
    return {"IPython": package, "IPython.display": display}
