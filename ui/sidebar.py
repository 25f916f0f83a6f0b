"""The sidebar, the same on every page: checkpoint, sentence, decoding. All of it lives in the URL."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import session
from transformer import Beam, Greedy, Sampling, Translator, UserError
from transformer.checkpoint import Checkpoint
from transformer.device import describe_device
from transformer.interpret.trace import Trace
from transformer.translator import Strategy

from . import choices
from . import url_state as address
from .navigation import navigation
from .widgets import plain

# Each shows something that translation has to solve.
EXAMPLES = {
    "I love my teacher.": "a first sentence",
    "The dog didn't eat because it was too old.": "an ambiguous pronoun: what is “it”?",
    "I think that he has never read this book.": "a clause within a clause: where does its verb go?",
    "He bought a ticket at the train station.": "a compound noun: one word over there, or several?",
    "I can't swim, and I don't want to learn it.": "two negations: are they written alike?",
    "Tom lives in Boston with his three sisters.": "names and a number stay themselves",
}
DEFAULT_TEXT = next(iter(EXAMPLES))
DECODINGS = ("greedy", "beam", "sampling")


@dataclass(frozen=True)
class Choice:
    """What the visitor has chosen in the sidebar."""

    checkpoint: str
    text: str
    strategy: Strategy


def show() -> None:
    """Draw the sidebar; without a usable checkpoint, say so on the page and stop."""
    names = session.checkpoint_names()
    if not names:
        st.error(
            "There is no checkpoint in `checkpoints/`. Clone the repository with its checkpoints, or train one: "
            "see “Train” in the README.",
            icon=":material/folder_off:",
        )
        st.stop()
    page = st.container()  # where a message about the checkpoint goes: the page, not the sidebar
    with st.sidebar:
        name = st.selectbox("Checkpoint", names, key="checkpoint", bind="query-params")
        st.text_area(
            "Sentence to translate", DEFAULT_TEXT, key="text", bind="query-params", height=100, on_change=_new_sentence
        )  # fmt: skip
        st.button("Translate", type="primary", width="stretch", help="Ctrl+Enter in the box does the same")
        examples = st.container()
        strategy = _decoding()
        translator = _translator(name, page)
        with examples:
            _offer_examples(translator.checkpoint)
        st.divider()
        _describe(translator)
    st.session_state["choice"] = Choice(name, st.session_state["text"] or "", strategy)


def current() -> tuple[Translator, Trace]:
    """The translator and the trace that the sidebar asks for; where there is none, say why on the page and stop.

    Called once in a run of a page.
    """
    choice = taken_choice()
    with messages():
        return session.translator(choice.checkpoint), session.trace(choice.checkpoint, choice.text, choice.strategy)


@contextlib.contextmanager
def messages() -> Iterator[None]:
    """Within the block, what a visitor cannot have is said on the page in a sentence, and the page ends there."""
    try:
        yield
    except UserError as error:
        st.warning(plain(str(error)), icon=":material/edit:")
        st.stop()


def show_sentences(translator: Translator, trace: Trace) -> None:
    """Source and translation, and what about them a visitor should know (see `show_doubts`)."""
    data = translator.checkpoint.data
    columns = st.columns(2)
    for column, language, text in (
        (columns[0], data.get("source_language", "Source"), trace.source_text),
        (columns[1], data.get("target_language", "Translation"), trace.target_text),
    ):
        with column.container(gap="xxsmall"):
            st.caption(plain(language))
            words = plain(" ".join(text.split())) or "(nothing: the model ended the sentence at once)"
            st.markdown(f"#### {words}", anchors=False)
    show_doubts(translator, trace)


def show_doubts(translator: Translator, trace: Trace) -> None:
    """What about a sentence and its translation a visitor should know: characters unread, or an end not reached."""
    unknown = translator.unknown_characters(trace.source_text)
    if unknown:
        shown = " ".join(unknown[:10])
        st.warning(
            plain(f"The model has never seen {shown} and reads it as <unk>, a piece that stands for anything unknown."),
            icon=":material/help:",
        )
    if not trace.finished:
        words = " ".join(trace.target_text.split()[:4])
        text = f"The translation “{words} …” was cut at the length limit before its end of sentence."
        st.warning(plain(text), icon=":material/cut:")


def taken_choice() -> Choice:
    """What this run's sidebar left for the page, taken away so that no later run finds it without a sidebar.

    Called once in a run of a page that needs more than `current` gives.
    """
    if "choice" not in st.session_state:
        # Until app.py has run once in a server's life, Streamlit takes a link to a page in pages/ for a script of its
        # own and runs it alone. Registering the pages ends that; the next run begins at app.py.
        navigation()
        st.rerun()
    return st.session_state.pop("choice")


def _offer_examples(checkpoint: Checkpoint) -> None:
    """Sentences to try: for a translator from English what is hard to translate, for another model its film's."""
    examples = EXAMPLES
    if checkpoint.data.get("source_language") != "English":
        examples = {source: f"as in its film: {target}" for source, target in checkpoint.probes}
    if examples:
        st.selectbox(
            "Example sentences", list(examples), index=None, key="example", placeholder="Choose one to try",
            format_func=lambda text: f"{text} ({examples.get(text, '')})", on_change=_take_example,
        )  # fmt: skip


def _take_example() -> None:
    if st.session_state["example"]:
        st.session_state["text"] = st.session_state["example"]
        st.session_state["example"] = None
        _new_sentence()


def _new_sentence() -> None:
    """Places within the sentence before mean nothing in the next one."""
    address.remember("step", "1", "1")
    address.remember("see_tokens", "")
    if "hypothesis" in st.session_state:
        st.session_state["hypothesis"] = "1"


def _decoding() -> Strategy:
    kind = st.segmented_control(
        "Decoding", DECODINGS, default="greedy", required=True, key="decoding", bind="query-params",
        help="Greedy takes the most probable piece at each step; beam search keeps several translations under way; "
        "sampling draws at random, in proportion to the probabilities.",
    )  # fmt: skip
    if kind == "beam":
        size = st.slider("Beam size", 2, 10, 5, key="beam", bind="query-params")
        alpha = st.slider(
            "Length penalty alpha", 0.0, 1.5, 0.6, 0.1, key="alpha", bind="query-params",
            help="0 ranks by probability alone, which prefers short translations; the paper used 0.6.",
        )  # fmt: skip
        return Beam(size=size, alpha=alpha)
    if kind == "sampling":
        temperature = st.slider(
            "Temperature", 0.1, 2.0, 1.0, 0.1, key="temperature", bind="query-params",
            help="Below 1 the probable pieces become more probable; above 1, less.",
        )  # fmt: skip
        top_k = st.slider(
            "Top-k", 0, 50, 0, key="topk", bind="query-params", help="Draw among the k most probable; 0: among all."
        )
        seed = choices.whole_number("Seed", 1, 9999, 1, "seed", "1 to 9999. Another seed, another draw.")
        return Sampling(temperature=temperature, top_k=top_k, seed=seed)
    return Greedy()


def _translator(name: str, page: DeltaGenerator) -> Translator:
    try:
        return session.translator(name)
    except UserError as error:
        text = f"{plain(str(error))} Choose another checkpoint, or restore this one."
        page.error(text, icon=":material/broken_image:")
        st.stop()


def _describe(translator: Translator) -> None:
    """The model in a few facts, its device, and whose data it was trained on."""
    config, data = translator.model.config, translator.checkpoint.data
    st.caption(
        f"Running on **{describe_device(translator.model.device)}**  \n"
        f"{config.num_encoder_layers} + {config.num_decoder_layers} layers of {config.num_heads} heads, "
        f"d_model {config.d_model}, {translator.model.count_parameters() / 1e6:.1f} M parameters, "
        f"{config.norm}-norm"
    )
    scores = translator.checkpoint.bleu.items()
    st.caption("  \n".join(plain(f"BLEU {bleu:.1f}: {name.replace('.tsv.gz', '')}") for name, bleu in scores))
    if "attribution" in data:
        text = f"Trained on {data.get('name', 'a corpus')} ({data.get('licence', 'licence unknown')}): "
        st.caption(plain(text + data["attribution"]))
