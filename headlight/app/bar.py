"""The bar above every page: sentence, languages, examples, and icons for link, presentation, keys and options."""

import functools
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from headlight.app import results
from headlight.app.results import CheckpointFiles, TranslationRequest
from headlight.components.show import copy_link, presenter
from headlight.language import LANGUAGES, language
from transformer import Beam, Greedy, Sampling, Translator, UserError, __version__
from transformer.checkpoint import Checkpoint, data_of
from transformer.model.device import describe_device
from transformer.translator import Strategy

from . import choices, state
from .parameters import PARAMETERS, default_of
from .statics import style
from .widgets import can_be_presented, is_presented, plain

AUTHORS, YEAR = "The Headlight authors", 2026
DIGITS = 12  # of the SHA-256: enough to tell any two checkpoints apart
# Sentences with a problem of translation.
EXAMPLES = {
    "I love my teacher.": "a first sentence",
    "The dog did not eat because it was too old.": "what is “it”?",
    "I know that he has never read this book.": "where does the second verb go?",
    "He bought a ticket at the train station.": "“train station”: one word or two?",
    "I cannot swim, and I do not want to learn it.": "two negations: the same word?",
    "Tom lives in Boston with his three sisters.": "names and numbers stay as they are",
}
PRESENT, WITHOUT_SENTENCE = (Path(__file__).with_name(f"{name}.css") for name in ("present", "without_sentence"))
GLOSSARY = tomllib.loads(Path(__file__).with_name("glossary.toml").read_text(encoding="utf-8"))["word"]
# Changes of the address with another text or task: positions, forced tokens and other texts belong to one sentence.
_FORGOTTEN = dict.fromkeys(
    ("step", "query", "key", "rewrite_weights", "hidden", "hypothesis", "prefix", "reordered", "own_target"), ""
)
_OTHER_MODEL = dict.fromkeys(("prefix", "own_target"), "")  # with another model or language, whose tokens are others
_NO_TASK = "nothing before the text"
DECODING = ("greedy", "beam", "sampling")


def show() -> TranslationRequest:
    """Show the bar and return its request; without a usable checkpoint, report that and stop."""
    names = results.checkpoint_names()
    if not names:
        st.error(
            "There is no checkpoint in `checkpoints/`. Clone the repository with its checkpoints, or train one: "
            "see “Train” in the README.",
            icon=":material/folder_off:",
        )
        st.stop()
    bar = st.container(horizontal=True, vertical_alignment="center", gap="small", key="bar")
    page = st.container()  # for a message about the checkpoint
    with bar:
        text = _sentence()
        model = st.container(horizontal=True, vertical_alignment="center", gap="small", width="content", key="model")
        with model:
            chosen = choices.from_list("Checkpoint", _labels(names), "checkpoint", None, 158, "collapsed", _OTHER_MODEL)
        checkpoint = results.checkpoint(chosen)
        with st.container(horizontal=True, vertical_alignment="center", gap=None, width="content", key="icons"):
            strategy = _show_icons(checkpoint)
    try:
        translator = results.translator(checkpoint)
    except UserError as error:
        words = f"{plain(str(error))} Choose another checkpoint, or restore this one."
        page.error(words, icon=":material/broken_image:")
        st.stop()
    with model:
        target_language, source_language = _languages(translator)
        task = _task(translator)
        _offer_examples(translator.checkpoint)
    return TranslationRequest(
        checkpoint, text, strategy, language=target_language, source_language=source_language, task=task
    )


def _labels(names: Sequence[str]) -> dict[str, str]:
    """Return the label of each checkpoint: its languages, with its name where two have the same."""
    labels = {name: _label(name, results.description(results.checkpoint(name))) for name in names}
    counts = Counter(labels.values())
    return {name: label if counts[label] == 1 else f"{label} ({name})" for name, label in labels.items()}


def _label(name: str, training: dict) -> str:
    source, target = (data_of(training).get(f"{side}_language") for side in ("source", "target"))
    if "imported" in training or not (source and target):
        return name
    return f"{name} letters (toy)" if source == "Text" else f"{source} → {target}"


def _show_icons(checkpoint: CheckpointFiles) -> Strategy:
    """Show the link, presentation mode, words and keys, and the options; return the strategy chosen there."""
    copy_link("copy_link")
    present = is_presented()
    presenter(
        present,
        can_be_presented(),
        GLOSSARY,
        "presenter",
        lambda on: state.go(present="1" if on else ""),
    )
    if present:
        st.html(style(PRESENT))
    _offer_languages()
    return _options(checkpoint)


def _offer_languages() -> None:
    """Offer the languages of the interface."""
    names = {code: str(each["name"]) for code, each in LANGUAGES.items()}
    st.menu_button(
        language().upper(), list(names), key="ui_menu", format_func=names.get, type="tertiary", on_click=_take_language
    )


def _take_language() -> None:
    if chosen := st.session_state["ui_menu"]:
        state.go(ui=chosen)


def hide_sentence() -> None:
    """Hide all of the bar but the language and the icons, in a view without the sentence."""
    if not is_presented():
        st.html(style(WITHOUT_SENTENCE))


def take_sentence(text: str) -> None:
    """Set the sentence in a callback of another widget."""
    state.go(**forgetting(text))


def forgetting(text: str) -> dict[str, str]:
    """Return the changes of the address with another sentence."""
    return _FORGOTTEN | {"text": text}


def _sentence() -> str:
    """Show the field for the sentence; an emptied one shows the sentence before again."""
    text = state.value("text")
    text = text if text.strip() else default_of("text")
    bound = state.widget("text", text, lambda typed: forgetting(typed) if (typed or "").strip() else {})
    placeholder = "Type a sentence and press Enter"
    st.text_input("Sentence to translate", placeholder=placeholder, label_visibility="collapsed", **bound)
    return text


def _offer_examples(checkpoint: Checkpoint) -> None:
    """Offer sentences: of English with a problem of translation, for another model those of its training replay."""
    examples = EXAMPLES
    if checkpoint.data.get("source_language") != "English":
        examples = {source: f"as in its training replay: {target}" for source, target in checkpoint.probes}
    if not examples:
        return
    st.menu_button(
        "Examples",
        list(examples),
        key="example",
        format_func=lambda text: f"{text} ({examples.get(text, '')})",
        on_click=_take_example,
    )


def _take_example() -> None:
    if st.session_state["example"]:
        take_sentence(st.session_state["example"])


def _languages(translator: Translator) -> tuple[str, str]:
    """Offer the languages of a model with several; return the target's and the source's, empty for none."""
    tokenizer, written, read = translator.tokenizer, "", ""
    source, target = tokenizer.default_languages
    if offered := tokenizer.source_languages:
        read = choices.from_list("Source language", offered, "source", source or None, 110, "collapsed", _OTHER_MODEL)
    if offered := tokenizer.languages:
        written = choices.from_list(
            "Target language", offered, "target", target or None, 110, "collapsed", _OTHER_MODEL
        )
    return written, read


def _task(translator: Translator) -> str:
    """Offer the instructions before the text of a model with tasks; return the chosen one, empty for none."""
    prefixes = tuple(dict.fromkeys(translator.checkpoint.prefixes.values()))  # two tasks may have the same
    if not prefixes:
        return ""
    start = usual_task(translator.checkpoint) or _NO_TASK
    offered = (_NO_TASK, *prefixes)
    chosen = choices.from_list("Task", offered, "instruction", start, 240, "collapsed", _FORGOTTEN)
    return "" if chosen == _NO_TASK else chosen


def usual_task(checkpoint: Checkpoint) -> str:
    """Return the default task of a model with tasks: a translation, if the model was trained for one."""
    return next((prefix for prefix in checkpoint.prefixes.values() if prefix.startswith("translate")), "")


def _options(checkpoint: CheckpointFiles) -> Strategy:
    """Show decoding, facts on the model and the citation behind one button; return the decoding strategy."""
    kind = state.value("decoding")
    label = f"⋯ {kind}" if kind in DECODING[1:] else "⋯"
    with st.popover(label, key="options", help="Decoding, this model, a reference to this view"):
        strategy = _decoding()
        _describe(checkpoint)
        _offer_citation(checkpoint)
    return strategy


def _decoding() -> Strategy:
    kind = choices.one_of(
        "Decoding",
        DECODING,
        "decoding",
        "Greedy takes the most probable token at each step; beam search keeps several translations under way; "
        "sampling draws at random, in proportion to the probabilities.",
    )
    if kind == "beam":
        shorter = "0 ranks by probability alone, which prefers short translations; the paper used 0.6."
        size = choices.slider("Beam size", *_limits("beam"), "beam")
        return Beam(size, choices.slider("Length penalty alpha", *_limits("alpha"), "alpha", 0.1, explanation=shorter))
    if kind == "sampling":
        sharper = "Below 1 the probable tokens become more probable; above 1, less."
        temperature = choices.slider("Temperature", *_limits("temperature"), "temperature", 0.1, explanation=sharper)
        top_k = choices.slider("Top-k", *_limits("topk"), "topk", explanation="Draw among the k most probable; 0: all.")
        seed = choices.whole_number("Seed", *_limits("seed"), "seed", "1 to 9999. Another seed, another draw.")
        return Sampling(temperature=temperature, top_k=top_k, seed=seed)
    return Greedy()


def _limits(name: str) -> tuple[Any, Any]:
    """Return the least and the largest value of a number in the address."""
    least, most = PARAMETERS[name].limits or (None, None)
    return least, most


def _describe(checkpoint: CheckpointFiles) -> None:
    """Show facts of the model, its device and the sources of its training data, folded."""
    with st.expander("This model"):
        try:
            facts, sources = _facts(checkpoint)
        except UserError:  # which the page reports
            return
        st.caption("  \n".join(facts))
        if len(sources) > 1:
            st.markdown("\n".join(f"- {plain(source)}" for source in sources))


@functools.lru_cache(maxsize=16)  # equal in every run of every page
def _facts(checkpoint: CheckpointFiles) -> tuple[list[str], list[str]]:
    """Return facts of a checkpoint's model, one per line, and the sources of its data."""
    translator = results.translator(checkpoint)
    config, data = translator.model.config, translator.checkpoint.data
    facts = [
        f"{config.num_encoder_layers} + {config.num_decoder_layers} layers of {config.num_heads} heads, d_model "
        f"{config.d_model}, {translator.model.count_parameters() / 1e6:.1f} M parameters, {config.norm}-norm, "
        f"on {describe_device(translator.model.device)}"
    ]
    scores = translator.checkpoint.bleu.items()
    facts += [plain(f"BLEU {bleu:.1f}: {name.replace('.tsv.gz', '')}") for name, bleu in scores]
    if "imported" in translator.checkpoint.training:
        licence = f" ({data['licence']})" if "licence" in data else ""
        facts.append(plain(f"Imported: {data.get('name', 'a model of another library')}{licence}"))
    sources = data["attribution"].split("; ") if "attribution" in data else []
    if sources:
        origin = f"Trained on {data.get('name', 'a corpus')} ({data.get('licence', 'licence unknown')})"
        facts.append(plain(origin if len(sources) > 1 else f"{origin}: {sources[0]}"))
    return facts, sources


@st.fragment
def _offer_citation(checkpoint: CheckpointFiles) -> None:
    """Show a reference to the view, folded.

    It is computed when it is opened, in a run of its own: the address may have changed since the page's last run.
    """
    folded = st.expander("Cite this view", key="cite", on_change="rerun")
    if not folded.open:
        return
    with folded:
        st.markdown("A reference to what is shown: the program, the weights that computed it, and its address.")
        try:
            st.code(_citation(checkpoint), language=None, wrap_lines=True)
        except UserError as error:
            st.warning(plain(str(error)))


def _citation(checkpoint: CheckpointFiles) -> str:
    """Return a reference to program, weights and address. Raises CheckpointError without weights."""
    return (
        f"{AUTHORS} ({YEAR}). Headlight {__version__}. Checkpoint {checkpoint.name}, model.safetensors with SHA-256 "
        f"{results.weights(checkpoint)[:DIGITS]}. {_link()}"
    )


def _link() -> str:
    """Return the address of the view, without a host if the browser sent none."""
    page, query = state.current().path, dict(state.current().values)
    query.pop("class", None)  # readers of the reference lead no class
    # Streamlit's address of the app may contain the page.
    base = (st.context.url or "").rstrip("/").removesuffix(f"/{page}").rstrip("/")
    return f"{base}/{page}" + (f"?{urlencode(query)}" if query else "")
