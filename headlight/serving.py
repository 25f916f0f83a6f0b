"""Commands that need the app: `app` serves it, `page` writes a sentence's explorer or the model as one file."""

import argparse
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from headlight.language import ENGLISH, LANGUAGES, speaking
from transformer.commands.options import AddCommand, addressing
from transformer.commands.translating import add_sentence, trace_sentence, write_result
from transformer.errors import UserError
from transformer.files import write_atomically

from .app.entry import CHECKPOINTS_VARIABLE, LESSONS_VARIABLE, entry_folder

# Streamlit's command; Ctrl-C during its import ends it without a traceback.
_SERVER = """
import signal
handler = signal.getsignal(signal.SIGINT)
if handler is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
from streamlit.web.cli import main
signal.signal(signal.SIGINT, handler)
main(prog_name="streamlit")
"""


ALL = "all"  # lessons, in place of a name


def add_commands(command: AddCommand) -> None:
    """Add the commands of this file."""
    app = command("app", _app, "show translations in a browser: the app")
    app.add_argument("--port", type=int, help="the port to listen to (8501, or the next that is free)")
    app.add_argument("--address", help="the address to listen to; 0.0.0.0 lets the whole network in (localhost)")
    app.add_argument("--headless", action="store_true", help="open no browser")
    app.add_argument("--checkpoints", type=Path, metavar="FOLDER", help="show the checkpoints in it (the shipped ones)")
    app.add_argument("--lessons", type=Path, metavar="FOLDER", help="offer the lessons in it besides the shipped ones")
    page = command("page", _page, "write all attention of one sentence, or the model, as a page that opens anywhere")
    add_sentence(page, ".html", required=False)
    lessons = "with --live: the name or the file of a lesson in the page; without a name all lessons"
    page.add_argument("--lesson", nargs="?", const=ALL, metavar="NAME", help=lessons)
    page.add_argument(
        "--live", action="store_true", help="in place of the sentence: the model itself, to translate any"
    )
    page.add_argument(
        "--site", type=Path, metavar="FOLDER", help="in place of a file: the shipped models as a web site"
    )
    page.add_argument("--text", metavar="SENTENCE", dest="own_text", help="with --live: the sentence to begin with")
    attention = "in place of the sentence: attention of any model, arrays with the names of hl.explore's arguments"
    page.add_argument("--attention", type=Path, metavar="FILE.npz", help=attention)
    page.add_argument("--ui", choices=LANGUAGES, default=ENGLISH, help="the language of all but the sentences (en)")


def _app(options: argparse.Namespace) -> int:
    """Serve until interrupted, in place of this process where the system can; return the server's exit status.

    All other settings are STREAMLIT_* in the environment. Raises ModuleNotFoundError without the extra `app`.
    """
    if importlib.util.find_spec("streamlit") is None:
        raise ModuleNotFoundError(name="streamlit")
    environment = dict(os.environ)
    if options.checkpoints:
        if not options.checkpoints.is_dir():
            raise UserError(f"There is no folder {options.checkpoints}.")
        environment[CHECKPOINTS_VARIABLE] = str(options.checkpoints.resolve())
    if options.lessons:
        if not options.lessons.is_dir():
            raise UserError(f"There is no folder {options.lessons}.")
        environment[LESSONS_VARIABLE] = str(options.lessons.resolve())
    # -P: files of the current folder do not shadow installed modules.
    command = [sys.executable, "-P", "-c", _SERVER, "run", str(entry_folder() / "app.py")]
    for name, value in (("port", options.port), ("address", options.address), ("headless", options.headless or None)):
        if value is not None:
            command.append(f"--server.{name}={str(value).lower()}")
    if os.name == "posix":
        os.execve(sys.executable, command, environment)
    with subprocess.Popen(command, env=environment) as server:  # Windows' exec would return to the shell at once
        try:
            return server.wait()
        except KeyboardInterrupt:  # the keyboard interrupts the server, too; a signal may not
            server.terminate()
            return server.wait()


def _page(options: argparse.Namespace) -> None:
    """Write the explorer or the model as one HTML file; print the translation or the size.

    Or write a site of live models, and print its files.
    """
    with speaking(options.ui):
        _write_page(options)


def _write_page(options: argparse.Namespace) -> None:
    if options.site is not None:
        _site(options)
        return
    if [options.text is not None, options.live, options.attention is not None].count(True) != 1:
        raise UserError("Give a sentence, --live, or --attention.")
    if options.lesson is not None and not options.live:
        raise UserError("--lesson goes with --live.")
    if options.out is None:
        raise UserError("Say by --out which file to write.")
    page, message = (_live if options.live else _maps if options.attention else _explorer)(options)
    write_result(options.out, lambda path: write_atomically(path, page.encode()))
    print(message)


def _live(options: argparse.Namespace) -> tuple[str, str]:
    """Return the page of a model that translates in the browser, and its size."""
    from transformer.checkpoint import load_checkpoint
    from transformer.corpus import find_roles

    from .views.live import find_replay, live_file

    if options.target is not None or options.beam > 1 or any(addressing(options)):
        raise UserError("A live page translates by itself, greedily: it takes --checkpoint and --text alone.")
    checkpoint = load_checkpoint(options.checkpoint)
    page = live_file(
        checkpoint,
        options.checkpoint.resolve().name,
        find_roles(options.checkpoint, checkpoint.model),
        options.own_text or "",
        find_replay(options.checkpoint),
        None if options.lesson is None else _lessons_of(options.checkpoint, options.lesson),
    )
    return page, f"{len(page.encode()) / 1e6:.1f} MB"


def _maps(options: argparse.Namespace) -> tuple[str, str]:
    """Return the page of a file of attention maps, and its size."""
    from .exploring import explore_file

    page = explore_file(options.attention).page
    return page, f"{len(page.encode()) / 1e6:.1f} MB"


def _lessons_of(checkpoint: Path, name: str) -> dict:
    """Return the data of a lesson, or of all, for a live page of a checkpoint."""
    from .lessons import expect_no_page, export_lessons, find_lesson, read_lessons

    expect_no_page()
    lessons, problems = read_lessons() if name == ALL else ([find_lesson(name)], [])
    if problems:
        raise UserError(problems[0])
    return export_lessons(lessons, checkpoint)


def _site(options: argparse.Namespace) -> None:
    """Write a page for each checkpoint of the app's folder, and an index."""
    from transformer.checkpoint import find_checkpoints

    from .app.entry import checkpoints_folder
    from .views.live import write_site

    if (
        options.text is not None
        or options.lesson is not None
        or options.own_text is not None
        or options.out is not None
    ):
        raise UserError("--site makes pages of all shipped models: it takes neither a sentence, a lesson nor a file.")
    try:
        pages = write_site(options.site, find_checkpoints(checkpoints_folder()), lambda path: _lessons_of(path, ALL))
    except OSError as error:
        raise UserError(f"{options.site} cannot be written: {error.strerror or error}.") from error
    for page in pages:
        print(page)


def _explorer(options: argparse.Namespace) -> tuple[str, str]:
    """Return a sentence's page, with its heads' roles over a corpus if they were measured, and its translation."""
    from transformer.corpus import find_roles

    from .views.attention.explorer_content import explorer_page

    if options.own_text is not None:
        raise UserError("--text goes with --live: any other sentence stands by itself.")
    translator, trace = trace_sentence(options)
    roles = find_roles(options.checkpoint, translator.model)
    return explorer_page(trace, options.checkpoint.resolve().name, roles), trace.target_text
