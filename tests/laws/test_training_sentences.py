"""Laws of the findings on live trainings: counted and computed again by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from headlight.views.training import live_content
from transformer.toy.jobs import JobView
from transformer.toy.settings import Task, ToySettings, ToyStatus
from transformer.training.replay import TrainingReplay

_SETTINGS = ToySettings()
_UNDER_WAY = ToyStatus(update=500, loss=0.5, exact_match=0.5, measured=90, seconds=25, updates_a_second=20, end="")
_LEARNED = replace(_UNDER_WAY, update=575, exact_match=0.992, measured=500, seconds=18.4, end="goal")
_FAILED = replace(_UNDER_WAY, update=2000, end="limit", exact_match=0.37, seconds=70)


def _view(state: str, status: ToyStatus | None, position: int = 0) -> JobView:
    return JobView(_SETTINGS, state, position, status, None)


def test_texts_of_task_and_model():
    assert live_content.task_text(_SETTINGS).endswith("sequences of 10 out of 11 letters, a to k")
    digits = replace(_SETTINGS, task="sort", symbols="digits", vocabulary=10)
    assert live_content.task_text(digits).endswith("out of 10 digits, 0 to 9")
    assert "at most 3.54·10⁻³" in live_content.model_text(_SETTINGS), "0.4 / sqrt(64 x 200)"


def test_the_state_of_a_run_has_its_numbers():
    states = {
        "Place 3": _view("waiting", None, 3),
        "20.0 updates per second: of 90 held-out sequences it writes 50 %": _view("running", _UNDER_WAY),
        "after 575 updates, in 18 seconds: of 500 held-out sequences it writes 99.2 %": _view("done", _LEARNED),
        "Not learned after 2,000 updates (70 seconds): of 90 held-out sequences it writes 37 %": _view("done", _FAILED),
        "after 1 update.": _view("stopped", replace(_UNDER_WAY, update=1)),
    }
    for shown, view in states.items():
        assert shown in live_content.state_text(view)


def test_the_time_left_is_that_to_the_limit_and_two_runs_are_compared_when_both_are_over():
    assert live_content.time_left_text(_UNDER_WAY, _SETTINGS) == f"{(_SETTINGS.max_updates - 500) / 20:.0f} s"
    assert live_content.time_left_text(replace(_UNDER_WAY, updates_a_second=0.0), _SETTINGS) == "—"
    first = ("Noam", _view("done", _LEARNED))
    finding = live_content.comparison([first, ("constant", _view("done", _FAILED))])
    assert finding.headline == "“Noam” gets 99.2 % right, “constant” 37 %."
    assert (finding["first_updates"], finding["second_updates"], "longer" in finding) == (575, 2000, False)
    longer = [replace(_LEARNED, symbols_when_longer=share) for share in (0.31, 0.05)]
    finding = live_content.comparison([(name, _view("done", each)) for name, each in zip("ab", longer, strict=True)])
    assert [finding[name] for name in ("first", "first_longer", "second", "second_longer")] == ["a", 0.31, "b", 0.05]
    both = live_content.comparison([first, ("constant", _view("done", replace(_LEARNED, update=1200)))])
    assert (both.name, both["first_updates"], both["second_updates"]) == ("needs", 575, 1200)
    for state, status in (("running", _UNDER_WAY), ("failed", None)):
        assert live_content.comparison([first, ("constant", _view(state, status))]) is None


def test_the_head_that_reads_the_symbol_to_be_written_and_the_update_since_which_it_does(random):
    positions, weights = Task.SORT.positions("baca"), random.random((6, 2, 4, 5, 5))
    weights[3:, 1, 2, range(4), [3, 1, 0, 2]] = 2  # a a b c stand at places 1 or 3, 3 or 1, 0, 2
    steps, none = np.array([0, 10, 20, 1500, 1600, 1700]), np.empty((0, 2))
    replay = TrainingReplay(steps, (SimpleNamespace(cross=weights),), none, none, "exact match")
    before = sum(int(weights[0, 1, 2, row].argmax()) in keys for row, keys in enumerate(positions))
    expected = {"reader": (1, 2), "hits": 4, "last": 1700, "begin": 0, "begin_hits": before, "since": 1500}
    finding = live_content.reading_story(replay, positions)
    assert {name: finding[name] for name in expected} == expected
