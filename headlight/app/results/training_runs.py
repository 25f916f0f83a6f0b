"""Trainings of this server's visitors."""

import atexit

from transformer.toy.jobs import Jobs

from . import cached


@cached(show_spinner=False, on_release=Jobs.close)
def jobs() -> Jobs:
    """Return the trainings of all users of this server; they end with it."""
    started = Jobs()
    atexit.register(started.close)
    return started
