"""The command line: a model's translations, maps and measures, its training, its import and export."""

import argparse
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable
from typing import Protocol

from . import __version__
from .commands import making, measuring, translating
from .commands.options import AddCommand
from .errors import UserError


class Commands(Protocol):
    """A module that adds commands to the parser."""

    def add_commands(self, command: AddCommand) -> None: ...


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return the exit status: 0, 1 for a UserError, 130 when interrupted."""
    return run("python -m transformer", (), arguments)


def run(program: str, more: Iterable[Commands], arguments: list[str] | None) -> int:
    """Run one command of this package or of `more` modules, for the program of this name; return the exit status."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill saves like Ctrl-C
    options = _parser(program, (*more, translating, measuring, making)).parse_args(arguments)
    try:
        if int(os.environ.get("WORLD_SIZE", 1)) > 1 and not options.shared:
            raise UserError(f"`{options.name}` runs in one process: start it without torchrun.")
        return options.run(options) or 0
    except BrokenPipeError:
        return 1
    except (UserError, OSError) as error:  # OSError: a disk that is full, a folder that is a file
        told = f"{error.filename}: {error.strerror}." if isinstance(error, OSError) and error.filename else error
        print(f"headlight: {told}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser(program: str, modules: Iterable[Commands]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=program, description=__doc__)
    parser.add_argument("--version", action="version", version=f"headlight {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int | None], told: str) -> argparse.ArgumentParser:
        subparser = commands.add_parser(name, help=told)
        subparser.set_defaults(run=run, name=name, shared=False)
        return subparser

    for module in modules:
        module.add_commands(command)
    return parser


if __name__ == "__main__":
    sys.exit(main())
