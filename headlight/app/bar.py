"""The bar above every page: sentence, languages, examples, and icons for link, presentation, keys and options."""

import functools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from headlight.app import results
from headlight.app.finding import Templates
from headlight.app.results import CheckpointFiles, TranslationRequest
from headlight.components.show import copy_link, presenter
from headlight.language import LANGUAGES, language, name_of_language, texts_of
from transformer import Beam, Greedy, Sampling, Translator, UserError, __version__
from transformer.checkpoint import Checkpoint, data_of
from transformer.model.device import describe_device
from transformer.translator import Strategy

from . import choices, state
from .parameters import default_of
from .statics import style
from .widgets import can_be_presented, is_presented, plain

YEAR = "2026"
DIGITS = 12  # of the SHA-256: enough to tell any two checkpoints apart
PRESENT, WITHOUT_SENTENCE = (Path(__file__).with_name(f"{name}.css") for name in ("present", "without_sentence"))
GLOSSARY = Path(__file__).with_name("glossary.toml")
# Changes of the address with another text or task: positions, forced tokens and other texts belong to one sentence.
_FORGOTTEN = dict.fromkeys(
    ("step", "query", "key", "rewrite_weights", "hidden", "hypothesis", "prefix", "reordered", "own_target"), ""
)
_OTHER_MODEL = dict.fromkeys(("prefix", "own_target"), "")  # with another model or language, whose tokens are others
_NO_TASK = "nothing before the text"  # in the address
DECODING = ("greedy", "beam", "sampling")
TEMPLATES = Templates.beside(__file__)


def show() -> TranslationRequest:
    """Show the bar and return its request; without a usable checkpoint, report that and stop."""
    names = results.checkpoint_names()
    if not names:
        st.error(TEMPLATES.text("no_checkpoint"), icon=":material/folder_off:")
        st.stop()
    bar = st.container(horizontal=True, vertical_alignment="center", gap="small", key="bar")
    page = st.container()  # for a message about the checkpoint
    with bar:
        text = _sentence()
        model = st.container(horizontal=True, vertical_alignment="center", gap="small", width="content", key="model")
        with model:
            chosen = choices.from_list(_labels(names), "checkpoint", None, 158, "collapsed", _OTHER_MODEL)
        checkpoint = results.checkpoint(chosen)
        with st.container(horizontal=True, vertical_alignment="center", gap=None, width="content", key="icons"):
            strategy = _show_icons(checkpoint)
    try:
        translator = results.translator(checkpoint)
    except UserError as error:
        page.error(TEMPLATES.text("unreadable", error=plain(str(error))), icon=":material/broken_image:")
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


def examples() -> dict[str, str]:
    """Return English sentences, each with its problem of translation."""
    texts = (TEMPLATES.text(f"example_{number}").partition(" | ") for number in range(1, 7))
    return {sentence: problem for sentence, _, problem in texts}


def _label(name: str, training: dict) -> str:
    source, target = (data_of(training).get(f"{side}_language") for side in ("source", "target"))
    if "imported" in training or not (source and target):
        return name
    if source == "Text":
        return TEMPLATES.text("toy", name=name)
    return TEMPLATES.text("pair", source=name_of_language(source), target=name_of_language(target))


def _show_icons(checkpoint: CheckpointFiles) -> Strategy:
    """Show the link, presentation mode, words and keys, and the options; return the strategy chosen there."""
    copy_link("copy_link")
    present = is_presented()
    presenter(
        present,
        can_be_presented(),
        texts_of(GLOSSARY)["word"],
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
    label, look = language().upper(), names.__getitem__
    st.menu_button(label, list(names), key="ui_menu", format_func=look, type="tertiary", on_click=_take_language)


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
    label, placeholder = choices.TEMPLATES.text("text"), TEMPLATES.text("placeholder")
    st.text_input(label, placeholder=placeholder, label_visibility="collapsed", **bound)
    return text


def _offer_examples(checkpoint: Checkpoint) -> None:
    """Offer sentences: of English with a problem of translation, for another model those of its training replay."""
    offered = examples()
    if checkpoint.data.get("source_language") != "English":
        offered = {source: TEMPLATES.text("in_replay", target=target) for source, target in checkpoint.probes}
    if not offered:
        return
    st.menu_button(
        TEMPLATES.text("examples"),
        list(offered),
        key="example",
        format_func=lambda text: f"{text} ({offered.get(text, '')})",
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
        read = choices.from_list(offered, "source", source or None, 110, "collapsed", _OTHER_MODEL)
    if offered := tokenizer.languages:
        written = choices.from_list(offered, "target", target or None, 110, "collapsed", _OTHER_MODEL)
    return written, read


def _task(translator: Translator) -> str:
    """Offer the instructions before the text of a model with tasks; return the chosen one, empty for none."""
    prefixes = tuple(dict.fromkeys(translator.checkpoint.prefixes.values()))  # two tasks may have the same
    if not prefixes:
        return ""
    start = usual_task(translator.checkpoint) or _NO_TASK
    labels = {_NO_TASK: TEMPLATES.text("no_task"), **{prefix: prefix for prefix in prefixes}}
    chosen = choices.from_list(labels, "instruction", start, 240, "collapsed", _FORGOTTEN)
    return "" if chosen == _NO_TASK else chosen


def usual_task(checkpoint: Checkpoint) -> str:
    """Return the default task of a model with tasks: a translation, if the model was trained for one."""
    return next((prefix for prefix in checkpoint.prefixes.values() if prefix.startswith("translate")), "")


def _options(checkpoint: CheckpointFiles) -> Strategy:
    """Show decoding, facts on the model and the citation behind one button; return the decoding strategy."""
    kind = state.value("decoding")
    label = f"⋯ {choices.option_label(kind)}" if kind in DECODING[1:] else "⋯"
    with st.popover(label, key="options", help=TEMPLATES.text("options_help")):
        strategy = _decoding()
        _describe(checkpoint)
        _offer_citation(checkpoint)
    return strategy


def _decoding() -> Strategy:
    kind = choices.one_of(DECODING, "decoding")
    if kind == "beam":
        return Beam(choices.slider("beam"), choices.slider("alpha", step=0.1))
    if kind == "sampling":
        temperature, top_k = choices.slider("temperature", step=0.1), choices.slider("topk")
        return Sampling(temperature=temperature, top_k=top_k, seed=choices.whole_number("seed"))
    return Greedy()


def _describe(checkpoint: CheckpointFiles) -> None:
    """Show facts of the model, its device and the sources of its training data, folded."""
    with st.expander(TEMPLATES.text("model")):
        try:
            facts, sources = _facts(checkpoint, language())
        except UserError:  # which the page reports
            return
        st.caption("  \n".join(facts))
        if len(sources) > 1:
            st.markdown("\n".join(f"- {plain(source)}" for source in sources))


@functools.lru_cache(maxsize=16)  # equal in every run of every page
def _facts(checkpoint: CheckpointFiles, _language: str) -> tuple[list[str], list[str]]:
    """Return facts of a checkpoint's model, one per line, and the sources of its data."""
    translator = results.translator(checkpoint)
    config, data = translator.model.config, translator.checkpoint.data
    sizes = {"encoder": config.num_encoder_layers, "decoder": config.num_decoder_layers, "heads": config.num_heads}
    sizes |= {"width": config.d_model, "millions": translator.model.count_parameters() / 1e6}
    device = describe_device(translator.model.device)
    facts = [TEMPLATES.text("sizes", **sizes, norm=config.norm, device=device)]
    scores = translator.checkpoint.bleu.items()
    facts += [plain(TEMPLATES.text("bleu", bleu=bleu, name=name.replace(".tsv.gz", ""))) for name, bleu in scores]
    if "imported" in translator.checkpoint.training:
        licence = f" ({data['licence']})" if "licence" in data else ""
        name = data.get("name", TEMPLATES.text("unnamed_model"))
        facts.append(plain(TEMPLATES.text("imported", name=name, licence=licence)))
    sources = data["attribution"].split("; ") if "attribution" in data else []
    if sources:
        name = data.get("name", TEMPLATES.text("unnamed_corpus"))
        licence = data.get("licence", TEMPLATES.text("no_licence"))
        origin = "trained_on" if len(sources) > 1 else "trained_on_source"
        facts.append(plain(TEMPLATES.text(origin, name=name, licence=licence, source=sources[0])))
    return facts, sources


@st.fragment
def _offer_citation(checkpoint: CheckpointFiles) -> None:
    """Show a reference to the view, folded.

    It is computed when it is opened, in a run of its own: the address may have changed since the page's last run.
    """
    folded = st.expander(TEMPLATES.text("cite"), key="cite", on_change="rerun")
    if not folded.open:
        return
    with folded:
        st.markdown(TEMPLATES.text("cite_intro"))
        try:
            st.code(_citation(checkpoint), language=None, wrap_lines=True)
        except UserError as error:
            st.warning(plain(str(error)))


def _citation(checkpoint: CheckpointFiles) -> str:
    """Return a reference to program, weights and address. Raises CheckpointError without weights."""
    facts = {"year": YEAR, "version": __version__, "checkpoint": checkpoint.name}
    return TEMPLATES.text("citation", **facts, digest=results.weights(checkpoint)[:DIGITS], link=_link())


def _link() -> str:
    """Return the address of the view, without a host if the browser sent none."""
    page, query = state.current().path, dict(state.current().values)
    query.pop("class", None)  # readers of the reference lead no class
    # Streamlit's address of the app may contain the page.
    base = (st.context.url or "").rstrip("/").removesuffix(f"/{page}").rstrip("/")
    return f"{base}/{page}" + (f"?{urlencode(query)}" if query else "")
