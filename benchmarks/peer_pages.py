"""Sentences with random attention, and BertViz's model_view of them."""

import contextlib
import hashlib
import io
import sys
import tarfile
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import torch

from transformer.arrays import softmax
from transformer.interpret.trace import Trace

LAYERS, HEADS = 6, 8


def random_trace(tokens: int, number: int, layers: int = LAYERS, heads: int = HEADS) -> Trace:
    """Sentence `number`, `tokens` on either side: softmax of normal scores, the decoder's causal.

    Every token names the sentence, so that a page shows which one it has drawn.
    """
    random = np.random.default_rng(number)
    scores = [2 * random.standard_normal((layers, heads, tokens, tokens), dtype=np.float32) for _ in range(3)]
    scores[1] = np.where(np.tri(tokens, dtype=bool), scores[1], -np.inf)
    source, fed, following = (tuple(f"{side}{number}.{index}" for index in range(tokens)) for side in "sft")
    texts = {"source_text": "", "target_text": "", "origin": "target", "finished": True, "source_pieces": ()}
    tokens_of_sides = {"source_tokens": source, "decoder_input_tokens": fed, "target_tokens": following}
    maps = dict(
        zip(("encoder", "decoder", "cross"), (softmax(each).astype(np.float32) for each in scores), strict=True)
    )
    numbers = dict.fromkeys(("target_probabilities", "target_ranks", "entropies"), np.zeros(tokens))
    numbers |= dict.fromkeys(("candidate_ids", "candidate_probabilities"), np.zeros((tokens, 0)))
    ids = ("source_ids", "decoder_input_ids", "target_ids")
    numbers |= dict.fromkeys(ids, tuple(range(number, number + tokens)))
    return Trace(**texts, **tokens_of_sides, **maps, **numbers, candidate_tokens=((),) * tokens)


CACHE = Path.home() / ".cache" / "headlight-benchmarks"
PAGE = Path(__file__).with_name("bertviz_page.html")
# name -> version, the file in the package, and the SHA-256 of the package
SCRIPTS = {
    "d3": ("5.7.0", "dist/d3.min.js", "21f53af012d1c00bc9476fa7c3be902fda809495b001e7f7a9481c744d4fe51e"),
    "jquery": ("2.2.4", "dist/jquery.min.js", "1ce113265b4e2a1c8cfc1da2fbf8836bd44e2911daa2a264b8ec52afef2e19a1"),
    "requirejs": ("2.3.6", "require.js", "1d1a8a5ea21b941f5c80f7caf3ac7f3e1cb8cf2903a706d5c0d15434eaedd326"),
}


def model_view_html(trace: Trace) -> bytes:
    """Return what model_view makes of a trace, all three kinds: its markup, its script, and the arrays as JSON."""
    encoder, decoder, cross = (
        [torch.tensor(layer)[None] for layer in part] for part in (trace.encoder, trace.decoder, trace.cross)
    )
    sides = {"encoder_tokens": list(trace.source_tokens), "decoder_tokens": list(trace.decoder_input_tokens)}
    maps = {"encoder_attention": encoder, "decoder_attention": decoder, "cross_attention": cross}
    return peer_html("model_view", **maps, **sides)


def peer_html(view: str, **arguments: object) -> bytes:
    """Return what a view of BertViz makes of its arguments: "model_view" or "head_view"."""

    # BertViz wraps its markup in a notebook's classes and needs nothing else of IPython.
    def wrapped(data: str) -> SimpleNamespace:
        return SimpleNamespace(data=data)

    display = SimpleNamespace(HTML=wrapped, Javascript=wrapped, display=None)
    with patch.dict(sys.modules, {"IPython": SimpleNamespace(display=display), "IPython.display": display}):
        import bertviz

        return getattr(bertviz, view)(**arguments, html_action="return").data.encode()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Nothing: the table is what is printed."""


@contextlib.contextmanager
def serve_views(views: dict[str, bytes]) -> Iterator[str]:
    """Serve the page, the scripts and these views by their names; gives the address."""
    files = {"index.html": PAGE.read_bytes(), **{f"{name}.js": _script(name) for name in SCRIPTS}, **views}
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder)) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}"
            server.shutdown()


def _script(name: str) -> bytes:
    """Return a script of a package from the cache or the npm registry; raises RuntimeError if it is another one."""
    version, member, expected = SCRIPTS[name]
    path = CACHE / f"{name}-{version}.tgz"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(f"https://registry.npmjs.org/{name}/-/{name}-{version}.tgz", timeout=60) as answer:
            path.write_bytes(answer.read())
    package = path.read_bytes()
    if hashlib.sha256(package).hexdigest() != expected:
        raise RuntimeError(f"{path} is not {name} {version}: delete it and try again")
    with tarfile.open(fileobj=io.BytesIO(package)) as archive:
        return archive.extractfile(f"package/{member}").read()
