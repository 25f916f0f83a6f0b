"""Example cards of Home, facts of its token lines, and findings on a translation and on the map of one head."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headlight.app.facts import encode_array, translation_facts
from headlight.app.finding import Finding, Templates, TokenAt
from headlight.language import texts_of
from headlight.plots.heatmap import cell_texts
from headlight.plots.names import head_name
from headlight.plots.numbers import percent
from headlight.plots.tokens import in_words, token_label
from transformer.config import TrainingConfig
from transformer.interpret.head_patterns import strongest_word_pair
from transformer.interpret.trace import AttentionMap, Trace
from transformer.training import TrainingReplay

TEMPLATES = Templates.beside(__file__)


@dataclass(frozen=True)
class Card:
    """Something that translation has to solve: a question, and the sentences in which it is seen, by a short name."""

    title: str
    question: str
    sentences: dict[str, str]


_CARDS = Path(__file__).with_name("cards.toml")


def cards_of(source_language: str, target_language: str, probes: Sequence[tuple[str, str]]) -> tuple[Card, ...]:
    """Return the cards of a pair of languages; for others one for each of the first sentences of a training replay."""
    label = TEMPLATES.text("try_it")
    made = (Card(source, TEMPLATES.text("in_replay", target=target), {label: source}) for source, target in probes[:3])
    cards = texts_of(_CARDS).get(f"{source_language} to {target_language}", ())
    named = [dict(zip(card.get("labels", card["sentences"]), card["sentences"], strict=True)) for card in cards]
    known = (Card(card["title"], card["question"], each) for card, each in zip(cards, named, strict=True))
    return tuple(known) or tuple(made)


def lines_facts(trace: Trace, shown: AttentionMap, training: TrainingConfig | None) -> dict:
    """Return the facts of the token lines for a trace and a cross-attention map of it: see token_lines/story.js."""
    return {
        **translation_facts(trace),
        "shown_cross": encode_array(shown.weights),
        "head_counts": [shown.layers, shown.heads],
        "smoothing": training.label_smoothing if training else 0,
    }


def hiding_facts(before: Trace, hidden: list[int]) -> dict:
    """Return the facts of hidden words, numbers from 0, and of the translation `before` any was hidden."""
    return {"hidden": hidden, "unhidden_tokens": list(before.target_tokens)}


def learning_facts(replay: TrainingReplay) -> dict:
    """Return the facts of a replay's first sentence and of the cross-attention head that ends nearest to a diagonal."""
    trajectory = replay.trajectories[0]
    diagonals = np.diagonal(trajectory.cross[-1], axis1=-2, axis2=-1).mean(axis=-1)  # layers heads
    layer, head = np.unravel_index(diagonals.argmax(), diagonals.shape)
    return {
        "steps": replay.steps.tolist(),
        "outputs": list(trajectory.outputs),
        "source_text": trajectory.source_text,
        "map": encode_array(trajectory.cross[:, layer, head]),
    }


def cells_in_words(shown: AttentionMap) -> list[list[str]]:
    """Return what a student reads on each cell of a cross-attention map: “gesehen” looks at “seen”: 94 %."""
    rows, keys = ([token_label(in_words(f"“{each}”")) for each in side] for side in (shown.queries, shown.keys))
    template = TEMPLATES.texts["cell"]

    def write(row: str, key: str, weight: str) -> str:
        return template.format(row=row, key=key, weight=weight)

    return cell_texts(write, rows, keys, [[percent(weight) for weight in row] for row in shown.weights.tolist()])


def strongest_reading(shown: AttentionMap) -> Finding | None:
    """Return the largest weight between two words of a cross-attention map; None where only special tokens have any."""
    rows = shown.predicted or shown.fed
    pair = strongest_word_pair(shown.weights, shown.keys, rows)
    if pair is None:
        return None
    row, key = TokenAt(rows, pair[0]), TokenAt(shown.keys, pair[1])
    head = head_name(shown.layer, shown.head, shown.layers, shown.heads)
    finding = TEMPLATES("strongest", row=row, key=key, weight=shown.weights[pair])
    return finding.followed_by(TEMPLATES("no_larger", head=head))
