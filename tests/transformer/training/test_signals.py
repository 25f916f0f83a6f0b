"""Signals that wait for the end of a step."""

import signal
import threading

import pytest

from transformer.training.trainer import interruptions_held


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_kept_until_it_is_asked_for_and_the_handlers_are_put_back(number):
    before = signal.getsignal(number)
    with interruptions_held() as asked:
        assert not asked.is_set()
        signal.raise_signal(number)
        assert asked.is_set()
    assert signal.getsignal(number) is before


def test_what_torchrun_hands_on_right_after_the_terminal_is_the_same_interruption():
    with interruptions_held() as asked:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        assert asked.is_set()


def test_a_later_one_stops_at_once(monkeypatch):
    monkeypatch.setattr("transformer.training.trainer._ONE_INTERRUPTION", 0)
    with pytest.raises(KeyboardInterrupt), interruptions_held():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)


def test_another_thread_than_the_main_one_leaves_signals_alone():
    before, seen = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with interruptions_held() as asked:
            seen.append((signal.getsignal(signal.SIGINT), asked.is_set()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(before, False)]
