"""Folders of the app's scripts and checkpoints: in the installed package, or in the repository."""

import os
from pathlib import Path

CHECKPOINTS_VARIABLE = "HEADLIGHT_CHECKPOINTS"  # in the environment: another folder of checkpoints
LESSONS_VARIABLE = "HEADLIGHT_LESSONS"  # in the environment: a folder of lessons besides the shipped ones


def entry_folder() -> Path:
    """Return the folder of app.py and pages/, from which Streamlit serves the app."""
    installed = Path(__file__).parents[1] / "entry"
    return installed if installed.is_dir() else Path(__file__).parents[2]


def checkpoints_folder() -> Path:
    """Return the folder of the app's checkpoints."""
    from transformer.files import shipped_checkpoints  # reads PyTorch

    return Path(os.environ.get(CHECKPOINTS_VARIABLE) or shipped_checkpoints())
