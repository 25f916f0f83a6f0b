"""The command line with the app: `app`, `page`, `film`, `lessons`, `gain`, `texts`, and `python -m transformer`'s."""

import sys
from collections.abc import Iterable

from transformer.__main__ import Commands, run


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return the exit status: 0, 1 for a UserError or a missing extra, 130 when interrupted."""
    try:
        return run("headlight", _with_the_app, arguments)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("streamlit", "plotly"):
            raise
        print('headlight: This command needs the app: pip install "headlight-transformer[app]".', file=sys.stderr)
        return 1


def _with_the_app() -> Iterable[Commands]:
    from . import filming, lessons, proofreading, serving

    return serving, filming, lessons, proofreading


if __name__ == "__main__":
    sys.exit(main())
