"""A question on the page of questions: its answer in words, a small figure of the loaded model, and where to go on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import plotly.graph_objects as go

from headlight.app.results import Choice
from transformer import Translator
from transformer.interpret.residual import ResidualStream
from transformer.interpret.trace import Trace


@dataclass(frozen=True)
class Asked:
    """What an answer may draw on: the user's choice, the model, the sentence and its vectors."""

    choice: Choice
    translator: Translator
    trace: Trace
    stream: ResidualStream


@dataclass(frozen=True)
class Shown:
    """A figure with its name for screen readers and a sentence on what to see in it, computed from this example."""

    figure: go.Figure
    alt: str
    see: str


@dataclass(frozen=True)
class Link:
    """Where to go on: a page's script, what the link is called, and what the address has besides."""

    page: str
    label: str
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """`name` is its own among all; `answer` has three sentences of Markdown."""

    name: str
    question: str
    answer: str
    show: Callable[[Asked], Shown]
    link: Link
