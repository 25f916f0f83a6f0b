"""Ctrl-C while modules are imported: the command ends without a traceback."""

import os
import signal
import subprocess
import sys

import pytest
from support.server import ROOT, free_port


@pytest.mark.parametrize(
    ("command", "module"),
    [
        (["transformer", "translate", "Go!"], "numpy"),
        (["headlight", "app", "--headless", "--port", "PORT"], "streamlit.config"),
    ],
    ids=["engine", "server"],
)
def test_an_interruption_while_modules_are_imported_prints_nothing(command, module):
    """Python lists imports on standard error; the signal comes after the first of many."""
    command = [sys.executable, "-m", *(str(free_port()) if part == "PORT" else part for part in command)]
    environment = os.environ | {"PYTHONPROFILEIMPORTTIME": "1", "HEADLIGHT_DEVICE": "cpu"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # A command in the background of a shell ignores Ctrl-C, and so would its children.
    pipes |= {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True, **pipes) as run:
        for line in run.stderr:
            if line.split("|")[-1].strip() == module:
                os.killpg(run.pid, signal.SIGINT)  # as the terminal does
                break
        lines = [line for line in run.stderr.read().splitlines() if not line.startswith("import time:")]
        assert (lines, run.stdout.read()) == ([], "")
    assert run.returncode in (130, -signal.SIGINT)
