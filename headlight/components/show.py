"""Show each component on a Streamlit page: one function per component, named as its folder.

A component reports what the visitor does in the browser to the functions `on_...`.
"""

from collections.abc import Callable
from functools import cache

import streamlit as st

from headlight.components.bundle import read_parts, slimmed_style
from headlight.components.modules import script

_OF_THE_BAR = ("copy_link/link", "presenter/presenter")  # no wider than their buttons
NEWEST = -1  # as a training step: wherever the replay ends now
SHOWN_VIEW = "shown_view"  # in the session: the widget by which the page's view is chosen, and the view of the last run


def architecture_diagram(payload: dict, chosen: str, key: str, on_choice: Callable[[str], None]) -> None:
    """Show the paper's figure 1 for a checkpoint with one box chosen; `on_choice` gets the name of another one.

    The payload is made by headlight/views/inside. Which layer of a stack is unfolded is the browser's own.
    """
    data = {**payload, "chosen": chosen}
    _show("architecture_diagram/diagram", data, key, choice=lambda name: on_choice(str(name)))


def attention_explorer(
    blob: bytes, written: dict[str, str], key: str, on_choice: Callable[[dict[str, str]], None]
) -> None:
    """Show all heads of a sentence, linked; `on_choice` gets the choice as texts for the address.

    The weights in `blob` stay the same for a sentence, so that Streamlit sends them once. What the address says,
    `written`, travels beside them in a component without anything to be seen.
    """
    with st.container(gap=None):  # what cannot be seen takes no room
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
    cells of the mask are editable: it gets the query and key of a clicked cell. Pointing at a cell and choosing another
    one happen in the browser alone.
    """
    identity = ("kind", "layer", "sentence", "head", "query_tokens", "keys")
    block, name = [facts[each] for each in identity], f"{key}_known"
    held = st.session_state.get(name, {"turn": -1})
    # What the browser itself chose is not sent back: the message stays the same to the byte, and Streamlit sends a
    # message that the browser has only by its name, not the matrices again. A new turn makes the browser take it.
    if key not in st.session_state or (held.get("block"), held.get("known")) != (block, chosen):
        held = {"block": block, "given": chosen, "known": chosen, "turn": held["turn"] + 1}
        st.session_state[name] = held

    def choose(choice: list[str]) -> None:
        held["known"] = tuple(map(str, choice))
        on_choice(held["known"])

    def mask(report: list[int | str]) -> None:
        query, key, *choice = report
        choose(list(map(str, choice)))
        if on_mask:
            on_mask(int(query), int(key))

    data = {"facts": facts, "chosen": list(held["given"]), "turn": held["turn"], "editable": on_mask is not None}
    _show("attention_steps/steps", data, key, choice=choose, mask=mask)


def beam_tree(payload: dict, key: str, on_choice: Callable[[str], None]) -> None:
    """Show a beam search as a tree of buttons.

    `on_choice` gets the token ids of a branch, joined by dots: the search is to go on from there.
    """
    _show("beam_tree/tree", payload, key, choice=lambda ids: on_choice(str(ids)))


def class_desk(payload: dict, key: str, act: Callable[[object], None], rights: Callable[[object], None]) -> None:
    """Show a teacher's class: its door, its question and what was answered, and what she can do.

    `act` gets a mapping: what she does by its `name`, and the version of the class that she saw, `v`. `rights` gets the
    secret that this browser has of the class, or that she wrote.
    """
    _show("class_desk/desk", payload, key, act=act, rights=rights)


def classes_kept(ended: list[str], key: str, on_choice: Callable[[str], None]) -> None:
    """Show the classes whose secrets this browser has; `on_choice` gets the code of one to go on with.

    It forgets those that have `ended`.
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
    """Show a translation that is stepped through and played in the browser, from `step` on, counted from 1.

    Playing happens in the browser alone; where `steps` has "autoplay" set, the player plays once by itself on arrival.
    `on_step` gets the step where the visitor stopped, `on_head` a head (layer, head, counted from 0), `on_take` a
    candidate forced in place of the model's choice (step, id), and `on_undo` hears that it is to be taken back.
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
    """Give every Plotly figure of the page a button: picture, numbers and caption, all made by the visitor's browser.

    A figure's caption stands in the `meta` of its layout.
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
    """Show every head of the model as a switch, those off that `off` names: "cross.3.4-encoder.1.2".

    facts: see head_switches/story.js; ablation: the replacement of a head's output. `on_choice` gets the same text as
    `off` for what the visitor has switched, empty when all heads are on.
    """
    data = {**facts, "ablation": ablation, "off": off}
    _show("head_switches/switches", data, key, choice=lambda text: on_choice(str(text)))


def presenter(present: bool, offered: bool, words: list[dict], key: str, on_present: Callable[[bool], None]) -> None:
    """Show the buttons for presenting and for the list of keys, and listen to the keys that every page hears.

    `present` says whether the page is being presented now, `offered` whether it can be; `on_present` hears when that is
    to change. words: those that are explained where they stand, each with the `forms` in which it is written and what
    it `says`.
    """
    _show("presenter/presenter", {"present": present, "offered": offered, "words": words}, key, present=on_present)


def lesson_panel(
    payload: dict,
    key: str,
    choose: Callable[[object], None],
    hint: Callable[[], None],
    show: Callable[[], None],
    go: Callable[[int], None],
    teach: Callable[[], None],
    restore: Callable[[dict], None],
) -> None:
    """Show a step of a lesson: its text, its question and what came of it.

    `choose` gets an option's name, a list of names or a number; `hint` and `show` hear that one is wanted, `go` the
    number of another step, from 1, `teach` that it is to be taught to a class. `restore` gets once what the browser
    remembers of earlier visits.
    """
    _show(
        "lesson_panel/panel",
        payload,
        key,
        choice=choose,
        hint=lambda _: hint(),
        show=lambda _: show(),
        go=lambda step: go(int(step)),
        teach=lambda _: teach(),
        restore=lambda remembered: restore(dict(remembered)),
    )


def replay_player(
    replay: dict,
    step: int,
    following: bool,
    name: str,
    on_step: Callable[[int], None],
    on_head: Callable[[int, int], None],
) -> None:
    """Show the snapshots of a training, at the one nearest to a training step, or the NEWEST.

    `name` is the replay's own, whatever its letters: another replay has another. Scrubbing and playing happen in the
    browser alone. `on_step` gets the step where the visitor stopped, NEWEST for the end of a replay that is `following`
    its training, and `on_head` a head (layer, head, counted from 0). While following, who stands at the end stays there
    as snapshots are added; who has scrubbed back stays where they are.
    """
    _show(
        "replay_player/player",
        {**replay, "step": step, "following": following},
        # Streamlit refuses a component's key with two underscores in a row, and names of checkpoints and of trainings,
        # which are random, may have them.
        f"replay-{name.encode().hex()}",
        step=lambda value: on_step(int(value)),
        head=lambda value: on_head(*map(int, value)),
    )


def replay_loop(facts: dict, key: str) -> None:
    """Show six seconds of a training replay, with a button to play them; facts: see replay_loop/loop.js."""
    _show("replay_loop/loop", {"facts": facts}, key)


def token_lines(lines: dict, key: str, on_word: Callable[[int], None]) -> None:
    """Show a translation's tokens in two rows, joined by one cross-attention head.

    `on_word` gets the number of a source word, from 0, that was clicked, or -1 where all hidden words are to be shown.
    """
    _show("token_lines/lines", lines, key, word=lambda number: on_word(int(number)))


def translation_table(facts: dict, key: str) -> None:
    """Show two translations token under token, with log P of each token; facts: see translation_table/story.js."""
    _show("translation_table/table", facts, key)


def weight_bars(payload: dict, key: str, on_key: Callable[[str], None], on_weights: Callable[[str], None]) -> None:
    """Show one row of attention weights, before and after, as bars that can be dragged.

    `on_key` gets the number of a token that was chosen, from 1, `on_weights` the weights that were drawn:
    "0.5-0.25-0.25".
    """
    heard = {"choice": lambda number: on_key(str(number)), "weights": lambda text: on_weights(str(text))}
    _show("weight_bars/bars", payload, key, **heard)


def _show(entry: str, data: object, key: str, **heard: Callable[..., None]) -> None:
    """Show a component by its entry, a path in this folder without .js.

    For each name in `heard`, the browser's trigger of that name calls what is given for it with the trigger's value.
    They are triggers and no state: the same value may come again after the Back button, and must be heard.
    """

    def hear(event: str) -> Callable[[], None]:
        def told() -> None:
            # What a component said just before its page was left may come when its state is gone, and what it said
            # before its view was left may come along with the choice of another one: to nobody.
            chooser, view = st.session_state.get(SHOWN_VIEW, (key, None))
            stays = chooser == key or st.session_state.get(chooser, view) == view
            if stays and key in st.session_state:
                heard[event](st.session_state[key].get(event))

        return told

    width = "content" if entry in _OF_THE_BAR else "stretch"
    _declare(entry)(data=data, key=key, width=width, **{f"on_{event}_change": hear(event) for event in heard})


@cache
def _declare(entry: str) -> Callable[..., object]:
    """Declare a component to Streamlit, once: its script, and its HTML and style, which lie beside its entry."""
    parts = read_parts(entry)
    name = entry.replace("/", "_")
    style = slimmed_style(parts.style) or None  # it goes along with all data
    return st.components.v2.component(name, html=parts.markup, css=style, js=script(entry))
