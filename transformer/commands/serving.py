"""The app: `app` starts Streamlit's server with it, from whatever folder."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from ..errors import UserError
from ..files import app_folder
from .options import AddCommand

CHECKPOINTS_VARIABLE = "HEADLIGHT_CHECKPOINTS"  # read by session/


def add_commands(command: AddCommand) -> None:
    """Add the command of this file."""
    app = command("app", _app, "show translations in a browser: the app")
    app.add_argument("--port", type=int, help="the port to listen to (8501, or the next that is free)")
    app.add_argument("--address", help="the address to listen to; 0.0.0.0 lets the whole network in (localhost)")
    app.add_argument("--headless", action="store_true", help="open no browser")
    app.add_argument("--checkpoints", type=Path, metavar="FOLDER", help="show the checkpoints in it (the shipped ones)")


def _app(options: argparse.Namespace) -> int:
    """Serve until interrupted; returns the server's exit status. All else is set by STREAMLIT_* in the environment."""
    folder, environment = app_folder(), dict(os.environ)
    if not (folder / "app.py").is_file():
        raise UserError(f"The app is not there: {folder} has no app.py. Install Headlight anew.")
    if options.checkpoints:
        if not options.checkpoints.is_dir():
            raise UserError(f"There is no folder {options.checkpoints}.")
        environment[CHECKPOINTS_VARIABLE] = str(options.checkpoints.resolve())
    # -P: what happens to lie in the current folder is not imported in place of what is installed.
    command = [sys.executable, "-P", "-m", "streamlit", "run", str(folder / "app.py")]
    for name, value in (("port", options.port), ("address", options.address), ("headless", options.headless or None)):
        if value is not None:
            command.append(f"--server.{name}={str(value).lower()}")
    with subprocess.Popen(command, env=environment) as server:
        try:
            return server.wait()
        except KeyboardInterrupt:  # from the keyboard the server has heard it too; a polite kill reached us alone
            server.terminate()
            return server.wait()
