"""The command line with the app: all commands of `python -m transformer`, `app` and `page`."""

import sys

from transformer.__main__ import run

from . import serving


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return the exit status: 0, 1 for a UserError, 130 when interrupted."""
    return run("headlight", (serving,), arguments)


if __name__ == "__main__":
    sys.exit(main())
