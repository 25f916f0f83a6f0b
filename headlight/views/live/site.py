"""A folder of live models that any web server, or GitHub Pages, can hand out as it is."""

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path

from headlight.components.live import Entry, index_page
from transformer.checkpoint import load_checkpoint
from transformer.corpus import find_roles
from transformer.errors import CheckpointError
from transformer.files import write_atomically

from .content import live_file, subject
from .replay import find_replay


def write_site(
    folder: Path, checkpoints: Sequence[Path], lessons_of: Callable[[Path], dict] | None = None
) -> list[Path]:
    """Write an index and a page for each checkpoint that a browser can run, each also compressed as FILE.gz.

    lessons_of: the lessons for a checkpoint that reads English, see `headlight.lessons.export`.

    Returns the pages, the index first. Raises UserError where none is left, and OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    entries, pages = [], []
    reason = CheckpointError("There is no checkpoint to make a page of.")
    for path in checkpoints:
        try:
            checkpoint = load_checkpoint(path)
            reads_english = checkpoint.data.get("source_language") == "English"
            lessons = lessons_of(path) if lessons_of and reads_english else None
            page = live_file(
                checkpoint, path.name, find_roles(path, checkpoint.model), replay=find_replay(path), lessons=lessons
            )
        except CheckpointError as error:
            reason = error
            continue
        pages.append(folder / f"{path.name}.html")
        compressed = _write(pages[-1], page)
        parameters = checkpoint.model.count_parameters()
        titles = {each["name"]: each["title"] for each in lessons["lessons"]} if lessons else {}
        entries.append(Entry(pages[-1].name, subject(checkpoint, path.name), parameters, compressed, titles))
    if not pages:
        raise reason
    _write(folder / "index.html", index_page(entries))
    return [folder / "index.html", *pages]


def _write(path: Path, page: str) -> int:
    """Write a page and its compressed form; return the bytes of the latter."""
    content = page.encode()
    compressed = gzip.compress(content, mtime=0)  # the same bytes whenever it is made
    write_atomically(path, content)
    write_atomically(path.with_name(f"{path.name}.gz"), compressed)
    return len(compressed)
