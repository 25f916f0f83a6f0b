"""Live trainings on a page: jobs of one test alone, and waiting for what they do."""

import time
from collections.abc import Callable

from streamlit.testing.v1 import AppTest
from support.pages import page_text

PAGE = "pages/training.py"
HOSTILE = ["x", "a,b,c", "x" * 50_000, "../../etc", "<script>alert(1)</script>", "\x00", ",,,"]


def button(app: AppTest, label: str):
    return next((button for button in app.button if button.label == label), None)


def run_until(app: AppTest, condition: Callable[[], bool], seconds: float = 300) -> None:
    """Let the page look again, as its fragment does, until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, page_text(app)
        time.sleep(0.3)
        app.run()
        assert not app.exception
