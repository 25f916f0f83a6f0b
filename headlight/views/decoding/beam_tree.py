"""Beam search as a tree: every translation that the beam held, what it grew from, and what became of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from headlight.app import results, url_state
from headlight.app.choices import slider
from headlight.app.head_choice import Head, choose_head_of
from headlight.app.results import TranslationRequest, what_if
from headlight.app.widgets import one_line, show_attempt, show_finding
from headlight.components.show import beam_tree
from headlight.plots.limits import replayed_words
from headlight.plots.text import Finding, format_probability, one_head_name, quoted, signed
from transformer import Beam
from transformer.decoding.beam import Branch, Outcome, best_branch, path_to

_LOOKS: dict[Outcome | None, str] = {Outcome.FELL_OUT: "dropped", Outcome.ENDED: "ended"}


_MOST = 10


def show(request: TranslationRequest) -> None:
    """Show the tree of one search, begun anew from a branch that is chosen. Raises UserError."""
    translator = results.translator(request.checkpoint)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="tree_controls"):
        started = request.strategy if isinstance(request.strategy, Beam) else Beam()
        size = slider("Beam size", 2, _MOST, "tree_beam", start=min(started.size, _MOST), width=260)
        head = choose_head_of(request)
        forced = url_state.token_ids(url_state.read("tree_prefix"))
        if forced and not translator.may_begin_with(forced):
            st.warning("The address begins with tokens that no translation can begin with; they are left out.")
            forced = ()
    searched = replace(request, strategy=replace(started, size=size), prefix=forced, rank=1)
    show_tree(searched, head, partial(url_state.write, "tree_prefix"))
    asked = {"decoding": "beam", "beam": str(size), "beam_view": "beam table", **head.query()}
    if forced:
        asked["prefix"] = ".".join(map(str, forced))
    label = "What this search found: a table, and step by step"
    st.page_link("pages/decoding.py", label=label, icon=":material/arrow_forward:", query_params=asked)


def show_tree(searched: TranslationRequest, head: Head, search_from: Callable[[str], None]) -> None:
    """Show the tree of a beam search, what one head reads at each branch, and what is found in it.

    `search_from` gets the token ids of a branch that is chosen, joined by dots, and "" for the start.
    """
    translator = results.translator(searched.checkpoint)
    branches, source = what_if.branches(searched), results.trace(searched).source_tokens
    if too_long := replayed_words(len(source), [len(each.ids) for each in branches if each.outcome is not None]):
        st.warning(too_long, icon=":material/content_cut:")
        return
    reads = what_if.branch_reads(searched, head.layer, head.head)
    best = translator.tokenizer.decode(branches[best_branch(branches)].ids)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="tree_best"):
        st.markdown(f"Best: **{one_line(best)}**")
        st.button("From the start", disabled=not searched.prefix, on_click=search_from, args=("",))
    reader = f"Cross-attention {one_head_name(head.layer or 0, head.head or 0)} reads: "  # averages are not offered
    payload = tree_payload(branches, reads, source, reader, translator.tokenizer.piece_text)
    beam_tree(payload, "beam_tree", search_from)
    show_finding(describe_tree(branches))
    show_attempt(
        "Make the beam larger: does another translation win, and was it behind for a while? Then choose a branch that "
        "fell out: how well could it have ended? A larger beam does not always translate better (Koehn and Knowles "
        "2017)."
    )


def tree_payload(
    branches: Sequence[Branch],
    reads: Sequence[Sequence[float]],
    source: Sequence[str],
    reader: str,
    name: Callable[[int], str],
) -> dict:
    """Return what `components.beam_tree` shows, ready for JSON; the best continuation of a branch comes first.

    reads: for each branch the cross-attention weights of its last step over the `source`; `reader` says whose they are;
    `name` turns an id into the token's text.
    """
    best = set(path_to(branches, best_branch(branches)))
    rows = _rows(branches, best)
    numbers = {branch: number for number, branch in enumerate(rows)}
    drawn = []
    for number, row in rows.items():
        branch = branches[number]
        before = branches[branch.parent].log_probability if branch.parent >= 0 else 0.0
        chance = min(1.0, float(np.exp(branch.log_probability - before)))
        drawn.append(
            {
                "parent": numbers.get(branch.parent, -1),
                "step": len(branch.ids) - 1,
                "row": row,
                "token": name(branch.ids[-1]),
                "note": str(branch.rank or ""),
                "ids": ".".join(map(str, branch.ids)),
                "chance": round(chance, 4),
                "log_probability": round(float(branch.log_probability), 4),
                "look": f"{'best ' if number in best else ''}{_LOOKS.get(branch.outcome, '')}".strip(),
                "words": branch_words(branch, chance, name),
                "reads": [round(float(weight), 4) for weight in reads[number]],
            }
        )
    return {"branches": drawn, "source": list(source), "reader": reader}


def _rows(branches: Sequence[Branch], best: set[int]) -> Mapping[int, int]:
    """Return the row of each branch, each before its continuations: the first of these has its row, others new ones."""
    children: dict[int, list[int]] = {}
    for number in sorted(range(len(branches)), key=lambda n: (n not in best, -branches[n].log_probability)):
        children.setdefault(branches[number].parent, []).append(number)
    rows: dict[int, int] = {}
    waiting, free = children[-1][::-1], 0
    while waiting:
        number = waiting.pop()
        parent = branches[number].parent
        if parent >= 0 and number == children[parent][0]:
            rows[number] = rows[parent]
        else:
            rows[number], free = free, free + 1
        waiting.extend(children.get(number, [])[::-1])
    return rows


def branch_words(branch: Branch, chance: float, name: Callable[[int], str]) -> str:
    """Say what a branch is: its token's probability, log P of all its tokens, its place, and what became of it."""
    ended = f" It ended, rank {branch.rank} with the score {signed(branch.score or 0.0, 2)}."
    fates: dict[Outcome | None, str] = {
        Outcome.ENDED: ended,
        Outcome.FELL_OUT: " None of its continuations was kept.",
        Outcome.OPEN: " Unfinished when the search stopped.",
    }
    in_beam = f", place {branch.place} in the beam" if branch.place else ""
    return (
        f"{quoted(name(branch.ids[-1]))}, step {len(branch.ids)}: {format_probability(chance)} after what came before; "
        f"log P of all so far {signed(branch.log_probability, 2)}{in_beam}.{fates.get(branch.outcome, '')}"
    )


def describe_tree(branches: Sequence[Branch]) -> Finding:
    """Say how far back the best one was on its way, how many branches there were, and what became of them."""
    counts = {outcome: sum(branch.outcome == outcome for branch in branches) for outcome in Outcome}
    grown = (
        f"The search grew {len(branches)} branches, one for each token: of these {counts[Outcome.ENDED]} ended, "
        f"{counts[Outcome.FELL_OUT]} fell out of the beam, {counts[Outcome.OPEN]} stayed open at the end."
    )
    if not counts[Outcome.ENDED]:
        return Finding("No translation had ended when the search stopped.", grown)
    way = [branches[number] for number in path_to(branches, best_branch(branches))]
    worst = max(way, key=lambda branch: branch.place or 0)
    if worst.place is None:
        return Finding("The best translation ended with its first token.", grown)
    if worst.place == 1:
        return Finding("The best translation led the unfinished ones at every step.", grown)
    headline = f"After step {len(worst.ids)} the best translation was only in place {worst.place}."
    return Finding(headline, f"At no step was it farther back among the unfinished ones. {grown}")
