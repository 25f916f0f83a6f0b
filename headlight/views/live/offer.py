"""The button that takes the model along: the checkpoint of the page as one file that needs no server."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from headlight.app import results
from headlight.app.finding import Templates
from headlight.app.results import CheckpointFiles, TranslationRequest
from headlight.app.widgets import offer_download
from headlight.language import language
from transformer import UserError

TEMPLATES = Templates.beside(__file__)


def offer_model(request: TranslationRequest, lesson_for: Callable[[CheckpointFiles], dict | None]) -> None:
    """Show the button; nothing for a model that a browser cannot run. lesson_for: the lesson that goes along."""
    size = _size(request.checkpoint)
    if size is None:
        return
    files, text = request.checkpoint, request.text
    label, name = TEMPLATES.text("label", megabytes=size / 1e6), f"headlight-{files.name}.html"
    page = partial(_file, files, text, language(), _lesson_for=lesson_for)
    offer_download(label, page, name, "text/html", TEMPLATES.text("help"))


@results.cached(max_entries=16, show_spinner=False)
def _size(checkpoint: CheckpointFiles) -> int | None:
    from .content import live_size

    try:
        return live_size(results.translator(checkpoint).checkpoint)
    except UserError:
        return None


@results.cached(max_entries=2, show_spinner=False)
def _file(
    checkpoint: CheckpointFiles, text: str, interface: str, _lesson_for: Callable[[CheckpointFiles], dict | None]
) -> bytes:
    from .content import live_file
    from .replay import find_replay

    loaded, replay = results.translator(checkpoint).checkpoint, find_replay(Path(checkpoint.folder))
    roles, lesson = results.roles(checkpoint), _lesson_for(checkpoint)
    return live_file(loaded, checkpoint.name, roles, text.strip(), replay, lesson).encode()
