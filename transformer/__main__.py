"""The command line: a model's translations, maps and measures, its training, its import and export."""

import argparse
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from . import __version__
from .errors import UserError

if TYPE_CHECKING:
    from .commands.options import AddCommand


class Commands(Protocol):
    """A module that adds commands to the parser."""

    def add_commands(self, command: "AddCommand") -> None: ...


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return the exit status: 0, 1 for a UserError, 130 when interrupted."""
    return run("python -m transformer", tuple, arguments)


def run(program: str, more: Callable[[], Iterable[Commands]], arguments: list[str] | None) -> int:
    """Run one command of this package or of the modules that `more` imports, for the program of this name.

    Returns the exit status. Ctrl-C ends it silently while modules are imported, which takes seconds.
    """
    with _ending_silently():
        from .commands import aligning, atlas, making, measuring, translating

        modules = *more(), translating, measuring, atlas, aligning, making
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill saves like Ctrl-C
    options = _parser(program, modules).parse_args(arguments)
    try:
        if int(os.environ.get("WORLD_SIZE", 1)) > 1 and not options.shared:
            raise UserError(f"`{options.name}` runs in one process: start it without torchrun.")
        return options.run(options) or 0
    except BrokenPipeError:
        return 1
    except (UserError, OSError) as error:  # OSError: a disk that is full, a folder that is a file
        text = f"{error.filename}: {error.strerror}." if isinstance(error, OSError) and error.filename else error
        print(f"headlight: {text}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


@contextlib.contextmanager
def _ending_silently() -> Iterator[None]:
    """Let Ctrl-C end the process at once in the block, unless another handler is set."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    yield
    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _parser(program: str, modules: Iterable[Commands]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=program, description=__doc__)
    parser.add_argument("--version", action="version", version=f"headlight {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int | None], text: str) -> argparse.ArgumentParser:
        subparser = commands.add_parser(name, help=text)
        subparser.set_defaults(run=run, name=name, shared=False)
        return subparser

    for module in modules:
        module.add_commands(command)
    return parser


if __name__ == "__main__":
    sys.exit(main())
