"""Files in JSON that were damaged."""

import json
from collections.abc import Callable


def broken(change: Callable[[dict], object]) -> Callable[[dict], str]:
    """Return a function that writes a file's content after a change to it."""

    def apply(content: dict) -> str:
        change(content)
        return json.dumps(content)

    return apply
