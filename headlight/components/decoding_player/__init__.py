"""The decoding player: a translation that is stepped through and played in the browser, sent there once."""

from collections.abc import Callable

from headlight.components.bundle import component

_player = component("decoding_player", "decoding_player/player")


def decoding_player(
    steps: dict,
    step: int,
    key: str,
    on_step: Callable[[int], None],
    on_head: Callable[[int, int], None],
    on_take: Callable[[int, int], None],
    on_undo: Callable[[], None],
) -> None:
    """Show `steps` (see headlight/views/decoding/content.py) from `step` on, counted from 1.

    Playing happens in the browser alone. Back come: the step where the user stopped, a head chosen among all (layer,
    head, counted from 0), a candidate forced in place of the model's choice (step, id), and the wish to undo that.
    """
    _player(
        {**steps, "step": step},
        key,
        step=lambda value: on_step(int(value)),
        head=lambda value: on_head(*map(int, value)),
        take=lambda value: on_take(*map(int, value)),
        undo=lambda _: on_undo(),
    )
