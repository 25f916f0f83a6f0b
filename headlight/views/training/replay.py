"""The view of a training replay: maps, output and curves at some snapshots, scrubbed and played in the browser."""

import re
from dataclasses import dataclass
from functools import cache, partial

import streamlit as st

from headlight.app import results, state
from headlight.app.choices import from_list
from headlight.app.finding import Finding, Templates
from headlight.app.head_choice import choose_head, take_head
from headlight.app.results import TranslationRequest, replays
from headlight.app.widgets import offer_page, plain, show_finding
from headlight.components.show import NEWEST, replay_player
from headlight.language import name_of_language
from transformer.interpret.head_patterns import Focus
from transformer.model.heads import Head
from transformer.model.names import AttentionKind
from transformer.training import TrainingReplay

from . import replay_content
from .replay_content import averaging_words, focus_of, output_story, replay_facts, replay_page

KINDS = ("cross", "encoder", "decoder")  # it begins with the kind where the change is plainest
TEMPLATES = Templates.beside(__file__)


def show(request: TranslationRequest) -> None:
    """Show the replay of the checkpoint's training, or which checkpoints have one. Raises UserError."""
    names = replays.replay_names()
    if request.checkpoint.name not in names:
        _offer(request.checkpoint.name, names)
        return
    replay = replays.replay(request.checkpoint)
    checkpoint = results.translator(request.checkpoint).checkpoint
    source, target = (name_of_language(checkpoint.data.get(f"{side}_language", side)) for side in ("source", "target"))
    show_replay(replay, request.checkpoint.name, (source, target))
    if "warm_start" in checkpoint.training:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(TEMPLATES.text("warm_start"))
            _offer_others(request.checkpoint.name, names)
    st.caption(replay_content.TEMPLATES.text("about"))
    if caption := averaging_words(checkpoint.training):
        st.caption(caption)


@dataclass(frozen=True)
class Live:
    """Additions to the replay of a training under way.

    `first` and `best` are heads of the cross-attention, layer and head from 0: the one to begin with, and the one that
    is marked, with its mark; `finding` stands before that of the replay.
    """

    first: tuple[int, int]
    best: tuple[int, int]
    best_words: str
    finding: Finding


def show_replay(
    replay: TrainingReplay,
    name: str,
    names: tuple[str, str],
    live: Live | None = None,
) -> None:
    """Show the controls, the player and the sentences of a replay.

    `names` are those of source and target, such as ("English", "French"); `name` is the replay's own. A replay that is
    `live` opens at its end and stays there as snapshots are added, unless the user has scrubbed back. One that is not
    begins with the head that changed most.
    """
    trajectories = {trajectory.source_text: trajectory for trajectory in replay.trajectories}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        text = next(iter(trajectories))
        if len(trajectories) > 1:
            text = from_list(list(trajectories), "probe", width=220)
        trajectory = trajectories[text]
        focus = cache(partial(focus_of, replay, trajectory))
        shapes = {kind: getattr(trajectory, kind).shape[1:3] for kind in KINDS}

        def start_of(kind: str) -> Head:
            first = live.first if live and kind == "cross" else focus(kind).most_changed()
            return Head(AttentionKind(kind), *first)

        chosen = choose_head(shapes, start_of, KINDS[0])
    kind, layer, head = chosen.kind, chosen.layer, chosen.head
    following = live is not None
    facts = replay_facts(replay, trajectory, kind, focus(kind), [(layer, head)], names)
    best = None
    if live and kind == "cross":
        best = {"layer": live.best[0], "head": live.best[1], "words": live.best_words}
    chosen_step = _step_of_address()
    step = (NEWEST if following else int(replay.steps[0])) if chosen_step is None else chosen_step
    shown = {"facts": facts, "layer": layer, "head": head, "best": best}
    replay_player(
        {**shown, "autoplay": chosen_step is None and not following},
        step,
        following,
        name,
        on_step=lambda step: state.go(snapshot="" if step == NEWEST else str(step)),
        on_head=lambda layer, head: take_head(Head(kind, layer, head)),
    )
    if not following:
        offer_page(lambda: replay_page(shown, step, name), "training.html")
    story = output_story(replay, trajectory)
    if live:
        story = live.finding.followed_by(story)
    show_finding(story, replay_content.TEMPLATES.text("attempt"))
    _offer_most_changed(focus(kind), chosen)


def _offer_most_changed(focus: Focus, shown: Head) -> None:
    """Show a button for the head that changed most, where heads can be compared and another one is shown."""
    most = focus.most_changed()
    if focus.known and len(focus.steps) > 2 and focus.values[0].size > 1 and most != (shown.layer, shown.head):
        head = Head(shown.kind, *most)
        st.button(TEMPLATES.text("changed", head=head), on_click=take_head, args=[head], icon=":material/grid_view:")


def _step_of_address() -> int | None:
    """Return the training step in the address; None where it names none."""
    text = state.value("snapshot")
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def _offer(name: str, names: list[str]) -> None:
    text = TEMPLATES.text("no_replay" if names else "no_replays", name=name, others=tuple(names))
    st.info(plain(text), icon=":material/movie:")
    _offer_others(name, names)


def _offer_others(name: str, names: list[str]) -> None:
    for other in names:
        if other != name:
            label = TEMPLATES.text("show_other", name=plain(other))
            st.button(label, key=f"show_{other}", on_click=partial(state.go, checkpoint=other))
