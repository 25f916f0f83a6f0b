"""The server beside its answers: it opens the browser, and gives memory back."""

import asyncio
import ctypes
import sys

from streamlit import cli_util, config
from streamlit.web.server import server_util


def open_browser() -> None:
    """Open the app in a browser, unless the server has no screen or runs with `--server.headless=true`."""
    if config.get_option("server.headless"):
        return
    named = next((each for each in ("browser.serverAddress", "server.address") if config.is_manually_set(each)), None)
    address = config.get_option(named) if named else "localhost"
    cli_util.open_browser(server_util.get_url(server_util.get_display_address(address)))


async def give_memory_back(seconds: float = 60.0) -> None:
    """Return freed memory to the system every so many seconds, for ever.

    Results of sentences come and go by the megabyte. glibc keeps what they leave: after eighty long sentences a server
    had 1,112 MB, and 681 without that.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    while trim is not None:
        await asyncio.sleep(seconds)
        await asyncio.to_thread(trim, 0)
