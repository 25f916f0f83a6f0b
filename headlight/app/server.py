"""Opening the browser, which Streamlit leaves to an app with routes of its own."""

from streamlit import cli_util, config
from streamlit.web.server import server_util


def open_browser() -> None:
    """Open the app in a browser, unless the server has no screen or runs with `--server.headless=true`."""
    if config.get_option("server.headless"):
        return
    named = next((each for each in ("browser.serverAddress", "server.address") if config.is_manually_set(each)), None)
    address = config.get_option(named) if named else "localhost"
    cli_util.open_browser(server_util.get_url(server_util.get_display_address(address)))
