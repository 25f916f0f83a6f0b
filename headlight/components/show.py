"""Show each component on a Streamlit page: one function per component, named as its folder.

A component reports the visitor's actions in the browser to the functions `on_...`.
"""

from collections.abc import Callable
from functools import cache, partial

import streamlit as st

from headlight.components.bundle import read_parts, slimmed_style
from headlight.components.modules import script
from headlight.language import ENGLISH, language

_OF_THE_BAR = ("copy_link/link", "presenter/presenter")  # as wide as their buttons
NEWEST = -1  # as a training step: the present end of a replay
STATE = "state"  # in the session: the state of headlight/app/state.py, whose `view` is the page and its view


def attention_explorer(
    blob: bytes, written: dict[str, str], key: str, on_choice: Callable[[dict[str, str]], None]
) -> None:
    """Show all heads of a sentence, linked; `on_choice` gets the choice as texts for the address.

    The weights in `blob` are those of a sentence, so that Streamlit sends them once; the address, `written`, is sent
    beside them, to an invisible component.
    """
    with st.container(gap=None):  # the invisible component takes no room
        _show("attention_explorer/address", written, f"{key}_address")
        _show("attention_explorer/explorer", blob, key, choice=lambda choice: on_choice(dict(choice)))


def attention_steps(
    facts: dict,
    chosen: tuple[str, ...],
    key: str,
    on_choice: Callable[[tuple[str, ...]], None],
    on_mask: Callable[[int, int], None] | None = None,
) -> None:
    """Show the steps of an attention block: see attention_steps/story.js for its facts.

    chosen: query, key and dimension, counted from 1, and the name of a step or "all", each as its text in the address;
    the component has defaults for others. `on_choice` gets the visitor's choice in the same form. With `on_mask` the
    cells of the mask are editable: it gets the query and key of a clicked cell. Hovering happens in the browser alone.
    """
    identity = ("kind", "layer", "sentence", "head", "query_tokens", "keys")
    block, name = [facts[each] for each in identity], f"{key}_known"
    held = st.session_state.get(name, {"turn": -1})
    # The browser's own choice is not sent back: an equal message is sent by its hash, without the matrices. With a new
    # turn the browser takes the choice.
    if key not in st.session_state or (held.get("block"), held.get("known")) != (block, chosen):
        held = {"block": block, "sent": chosen, "known": chosen, "turn": held["turn"] + 1}
        st.session_state[name] = held

    def choose(choice: list[str]) -> None:
        held["known"] = tuple(map(str, choice))
        on_choice(held["known"])

    def mask(report: list[int | str]) -> None:
        query, key, *choice = report
        choose(list(map(str, choice)))
        if on_mask:
            on_mask(int(query), int(key))

    data = {"facts": facts, "chosen": list(held["sent"]), "turn": held["turn"], "editable": on_mask is not None}
    _show("attention_steps/steps", data, key, choice=choose, mask=mask)


def beam_tree(payload: dict, key: str, on_choice: Callable[[str], None]) -> None:
    """Show a beam search as a tree of buttons.

    `on_choice` gets the token ids of a branch, joined by dots: the search is to go on from there.
    """
    _show("beam_tree/tree", payload, key, choice=lambda ids: on_choice(str(ids)))


def class_desk(payload: dict, key: str, act: Callable[[object], None], rights: Callable[[object], None]) -> None:
    """Show a teacher's class: its door, its question, the answers, and the teacher's actions.

    `act` gets a mapping with the `name` of an action and the version `v` of the class on the screen. `rights` gets the
    class's secret, stored in this browser or entered.
    """
    _show("class_desk/desk", payload, key, act=act, rights=rights)


def classes_kept(ended: list[str], key: str, on_choice: Callable[[str], None]) -> None:
    """Show the classes whose secrets this browser has, and forget those that have `ended`.

    `on_choice` gets the code of a class to continue.
    """
    _show("class_desk/kept", {"ended": ended}, key, choice=lambda code: on_choice(str(code)))


def copy_link(key: str) -> None:
    """Show a button that copies the page's address: sentence, model, view and head are all in it."""
    _show("copy_link/link", {}, key)


def decoding_player(
    steps: dict,
    step: int,
    key: str,
    on_step: Callable[[int], None],
    on_head: Callable[[int, int], None],
    on_take: Callable[[int, int], None],
    on_undo: Callable[[], None],
) -> None:
    """Show a translation step by step, from `step` on, counted from 1, with a player.

    Playing happens in the browser alone; with "autoplay" in `steps` the player plays once on arrival.
    `on_step` gets the step where the visitor stopped, `on_head` a head (layer, head, counted from 0), `on_take` a
    candidate forced in place of the model's choice (step, id); `on_undo` is called to take it back.
    """
    _show(
        "decoding_player/player",
        {**steps, "step": step},
        key,
        step=lambda value: on_step(int(value)),
        head=lambda value: on_head(*map(int, value)),
        take=lambda value: on_take(*map(int, value)),
        undo=lambda _: on_undo(),
    )


def figure_downloads(key: str) -> None:
    """Add a button to every Plotly figure: picture, numbers and caption, all made in the browser.

    A figure's caption is in the `meta` of its layout.
    """
    _show("figure_downloads/downloads", {}, key)


def head_card(payload: dict, key: str, on_head: Callable[[str], None]) -> None:
    """Show the role of one head, its numbers and its examples; `on_head` gets the name of another head, "cross.3.4"."""
    _show("head_card/card", payload, key, head=lambda name: on_head(str(name)))


def head_finder(payload: dict, key: str, on_choice: Callable[[dict[str, str]], None]) -> None:
    """Show every head of a model as a dot by two measures, with one chosen.

    `on_choice` gets the new value of the payload's `chosen`: both measures and the head.
    """
    _show("head_finder/finder", payload, key, choice=lambda choice: on_choice({**choice}))


def head_switches(facts: dict, ablation: str, off: str, key: str, on_choice: Callable[[str], None]) -> None:
    """Show every head of the model as a switch.

    off: heads that are off, such as "cross.3.4-encoder.1.2", empty for none; facts: see head_switches/story.js;
    ablation: the replacement of a head's output. `on_choice` gets a new `off`.
    """
    data = {**facts, "ablation": ablation, "off": off}
    _show("head_switches/switches", data, key, choice=lambda text: on_choice(str(text)))


def presenter(present: bool, offered: bool, words: list[dict], key: str, on_present: Callable[[bool], None]) -> None:
    """Show the buttons for presentation mode and for the list of keys, and listen to the keys of every page.

    present: whether the page is in presentation mode; offered: whether the browser has that mode; words: the glossary,
    each word with its `forms` and its explanation `says`. `on_present` gets whether the mode is to start.
    """
    _show("presenter/presenter", {"present": present, "offered": offered, "words": words}, key, present=on_present)


def lesson_panel(
    payload: dict,
    key: str,
    choose: Callable[[object], None],
    hint: Callable[[], None],
    show: Callable[[], None],
    go: Callable[[int], None],
    restore: Callable[[dict], None],
) -> None:
    """Show a step of a lesson: its text, its question and its feedback.

    `choose` gets an option's name, a list of names or a number, `go` the number of another step, from 1, and `restore`
    once the browser's memory of earlier visits; `hint` and `show` ask for the hint and the answer.
    """
    _show(
        "lesson_panel/panel",
        payload,
        key,
        choice=choose,
        hint=lambda _: hint(),
        show=lambda _: show(),
        go=lambda step: go(int(step)),
        restore=lambda remembered: restore(dict(remembered)),
    )


def quiz(payload: dict, key: str) -> None:
    """Show the quiz of a single visitor, whose answers stay in the browser."""
    _show("quiz/quiz", payload, key)


def replay_player(
    replay: dict,
    step: int,
    following: bool,
    name: str,
    on_step: Callable[[int], None],
    on_head: Callable[[int, int], None],
) -> None:
    """Show the snapshots of a training, at the one nearest to a training step, or the NEWEST.

    `name` identifies the replay. Scrubbing and playing happen in the browser alone. `on_step` gets the step where the
    visitor stopped, NEWEST for the end of a replay that is `following` its training, and `on_head` a head (layer, head,
    counted from 0). While following, a visitor at the end stays at the end as snapshots are added.
    """
    _show(
        "replay_player/player",
        {**replay, "step": step, "following": following},
        # Streamlit refuses keys with two underscores in a row, which names of checkpoints and trainings may have.
        f"replay-{name.encode().hex()}",
        step=lambda value: on_step(int(value)),
        head=lambda value: on_head(*map(int, value)),
    )


def replay_loop(facts: dict, key: str) -> None:
    """Show six seconds of a training replay, with a button to play them; facts: see replay_loop/loop.js."""
    _show("replay_loop/loop", {"facts": facts}, key)


def token_lines(lines: dict, key: str, on_word: Callable[[int], None], on_doubt: Callable[[int], None]) -> None:
    """Show a translation's tokens in two rows, joined by one cross-attention head.

    `on_word` gets the number of a clicked source word, from 0, or -1 to show all hidden words; `on_doubt` gets the
    step, from 0, of an output token whose other candidate was clicked.
    """
    handlers = {"word": lambda number: on_word(int(number)), "doubt": lambda step: on_doubt(int(step))}
    _show("token_lines/lines", lines, key, **handlers)


def translation_table(facts: dict, key: str) -> None:
    """Show two translations token under token, with log P of each token; facts: see translation_table/story.js."""
    _show("translation_table/table", facts, key)


def weight_bars(payload: dict, key: str, on_key: Callable[[str], None], on_weights: Callable[[str], None]) -> None:
    """Show one row of attention weights, before and after, as bars that can be dragged.

    `on_key` gets the number of a chosen token, from 1, `on_weights` the drawn weights: "0.5-0.25-0.25".
    """
    handlers = {"choice": lambda number: on_key(str(number)), "weights": lambda text: on_weights(str(text))}
    _show("weight_bars/bars", payload, key, **handlers)


def whole_pass(
    blob: bytes, key: str, on_moment: Callable[[str], None], on_page: Callable[[str, dict[str, str]], None]
) -> None:
    """Show a whole pass as a moving picture; facts: see whole_pass/story.js.

    `on_moment` gets the number of the station where the visitor stopped, from 1; `on_page` a page to open, and its
    address.
    """
    handlers = {"moment": lambda number: on_moment(str(number)), "page": lambda target: on_page(*target)}
    _show("whole_pass/pass", blob, key, **handlers)


def _show(entry: str, data: object, key: str, **handlers: Callable[..., None]) -> None:
    """Show a component by its entry, a path in this folder without .js.

    The browser's trigger of each name calls the handler of that name with its value. Triggers are no state: an equal
    value may come again after the Back button, and is handled again.
    """

    view = _view()

    def handle(event: str) -> None:
        # A report may arrive after its page or its view was left: ignore it.
        if key in st.session_state and _view() == view:
            handlers[event](st.session_state[key].get(event))

    width = "content" if entry in _OF_THE_BAR else "stretch"
    _declare(entry, language())(
        data=data, key=key, width=width, **{f"on_{event}_change": partial(handle, event) for event in handlers}
    )


def _view() -> object:
    return getattr(st.session_state.get(STATE), "view", None)


@cache
def _declare(entry: str, interface: str) -> Callable[..., object]:
    """Declare a component to Streamlit, once per language: its script, and its HTML and style beside its entry."""
    parts = read_parts(entry)
    name = entry.replace("/", "_") + ("" if interface == ENGLISH else f"_{interface}")
    style = slimmed_style(parts.style) or None  # sent with all data
    return st.components.v2.component(name, html=parts.markup, css=style, js=script(entry))
