"""What the app computes once and shares: the only cached functions. Everything they return is read-only."""

import atexit
from pathlib import Path

import numpy as np
import streamlit as st

from transformer import Beam, Translator
from transformer.checkpoint import find_checkpoints
from transformer.config import NORMS
from transformer.data.batching import SAMPLES, Example, read_samples
from transformer.decoding.sampling import Hypothesis
from transformer.evaluation import Confidence, measure_confidence
from transformer.experiments.initial_gradients import GradientNorms, gradient_norms
from transformer.interpret.attention_block import BlockParameters, Stages, compute_stages, differences
from transformer.interpret.attribution import Attribution, LeftOut, gradient_times_input, leave_out
from transformer.interpret.mask_ablation import MaskedPass, run_masked
from transformer.interpret.residual import Lens, Stream, hidden_units_of, logit_lens, record_stream
from transformer.interpret.stage_recording import block_parameters, record_stages
from transformer.interpret.trace import Trace
from transformer.toy.jobs import Jobs
from transformer.training.replay import REPLAY_FILE, TrainingReplay, load_replay
from transformer.translator import Strategy

Ids = tuple[int, ...]
Stamps = tuple[int, ...]

CHECKPOINTS = Path(__file__).parent / "checkpoints"
PAIRS_FOR_GRADIENTS = 16
_FILES = ("config.json", "model.safetensors", "tokenizer.model", "training.json")


def checkpoint_names() -> list[str]:
    """Names of the checkpoint folders, those that are there now."""
    return [path.name for path in find_checkpoints(CHECKPOINTS)]


def translator(name: str) -> Translator:
    """The translator of a checkpoint, shared by all visitors; raises UserError. A retrained one is read anew."""
    return _load(str(CHECKPOINTS / name), _stamps(name))


def trace(name: str, text: str, strategy: Strategy, prefix: Ids = (), rank: int = 1) -> Trace:
    """The trace of a text, shared by all who ask for the same; raises UserError.

    The translation begins with the ids in `prefix`; `rank` says which of the search's hypotheses it is, 1 the best.
    """
    return _trace(str(CHECKPOINTS / name), _stamps(name), text, strategy, prefix, rank, translator(name))


def hypotheses(name: str, text: str, strategy: Strategy, prefix: Ids = ()) -> tuple[Hypothesis, ...]:
    """The translations that the search found, best first; raises UserError."""
    return _hypotheses(str(CHECKPOINTS / name), _stamps(name), text, strategy, prefix, translator(name))


def masked_pass(name: str, text: str, second: str, strategy: Strategy, lifted: str) -> MaskedPass:
    """The pass over two texts and their translations as one batch, a mask lifted or "nothing"; raises UserError."""
    sentences = trace(name, text, strategy), trace(name, second, strategy)
    return _masked_pass(
        str(CHECKPOINTS / name), _stamps(name), text, second, strategy, lifted, translator(name), sentences
    )


def stages(
    name: str, text: str, strategy: Strategy, kind: str, layer: int
) -> tuple[Stages, BlockParameters, dict[str, float]]:
    """One attention block's stages for a text, what it has learned, and how closely both agree; raises UserError."""
    sentence = trace(name, text, strategy)
    return _stages(str(CHECKPOINTS / name), _stamps(name), text, strategy, kind, layer, translator(name), sentence)


def stream(name: str, text: str, strategy: Strategy) -> Stream:
    """Every vector of a text and its translation on the way through the model; raises UserError."""
    return _stream(
        str(CHECKPOINTS / name), _stamps(name), text, strategy, translator(name), trace(name, text, strategy)
    )


def hidden_units(name: str, text: str, strategy: Strategy, stack: str, layer: int) -> np.ndarray:
    """What the hidden units of one feed-forward give for each token of a text, after ReLU: [tokens, d_ff].

    `stack` is "encoder" or "decoder", the layer counts from 0; raises UserError.
    """
    return hidden_units_of(translator(name).model, stream(name, text, strategy), stack, layer)


def gradients(name: str, layers: int, seed: int) -> tuple[GradientNorms, ...]:
    """Gradient norms of new models in a checkpoint's shape, post-norm and pre-norm, on its sample pairs."""
    stamps = (*_stamps(name), _stamp(CHECKPOINTS / name / SAMPLES))
    return _gradients(str(CHECKPOINTS / name), stamps, layers, seed, translator(name), samples(name))


def lens(name: str, text: str, strategy: Strategy) -> Lens:
    """What each decoder layer would have predicted for a text; raises UserError."""
    sentence, passed = trace(name, text, strategy), stream(name, text, strategy)
    return _lens(str(CHECKPOINTS / name), _stamps(name), text, strategy, translator(name), sentence, passed)


def gradient(name: str, text: str, strategy: Strategy, step: int) -> Attribution:
    """Gradient times input for what follows a step of a text's translation, counted from 0; raises UserError."""
    sentence = trace(name, text, strategy)
    return _gradient(str(CHECKPOINTS / name), _stamps(name), text, strategy, step, translator(name), sentence)


def left_out(name: str, text: str, strategy: Strategy, step: int, places: range) -> LeftOut:
    """What the token after a step loses without each of these tokens, source first, then prefix; raises UserError."""
    sentence = trace(name, text, strategy)
    return _left_out(str(CHECKPOINTS / name), _stamps(name), text, strategy, step, places, translator(name), sentence)


def confidence(name: str, part: int, parts: int) -> Confidence:
    """How sure the model is on one of so many parts of the pairs that come with it, and how often right.

    Parts count from 0; raises UserError.
    """
    stamps = (*_stamps(name), _stamp(CHECKPOINTS / name / SAMPLES), parts)
    return _confidence(str(CHECKPOINTS / name), stamps, part, translator(name), samples(name)[part::parts])


def samples(name: str) -> tuple[Example, ...]:
    """The sentence pairs that come with a checkpoint, as its ids; raises UserError."""
    stamps = (*_stamps(name), _stamp(CHECKPOINTS / name / SAMPLES))
    return _samples(str(CHECKPOINTS / name), stamps, translator(name))


def replay_names() -> list[str]:
    """Names of the checkpoints that have a replay of their training."""
    return [name for name in checkpoint_names() if (CHECKPOINTS / name / REPLAY_FILE).is_file()]


def replay(name: str) -> TrainingReplay:
    """The replay of a checkpoint's training, shared by all visitors; raises UserError. A newer one is read anew."""
    path = CHECKPOINTS / name / REPLAY_FILE
    return _replay(str(path), _stamp(path))


@st.cache_resource(show_spinner=False, on_release=Jobs.close)
def jobs() -> Jobs:
    """The trainings of all visitors of this server; they end with it."""
    started = Jobs()
    atexit.register(started.close)
    return started


@st.cache_resource(max_entries=4, show_spinner="Reading the checkpoint …")
def _load(folder: str, stamps: Stamps) -> Translator:
    return Translator.load(folder)


@st.cache_resource(max_entries=32, show_spinner="Translating …")
def _trace(
    folder: str, stamps: Stamps, text: str, strategy: Strategy, prefix: Ids, rank: int, _translator: Translator
) -> Trace:
    if not isinstance(strategy, Beam):
        return _translator.trace(text, strategy=strategy, prefix=prefix)
    found = _hypotheses(folder, stamps, text, strategy, prefix, _translator)
    return _translator.trace(text, target=found[min(rank, len(found)) - 1])


@st.cache_resource(max_entries=32, show_spinner="Searching …")
def _hypotheses(
    folder: str, stamps: Stamps, text: str, strategy: Strategy, prefix: Ids, _translator: Translator
) -> tuple[Hypothesis, ...]:
    return tuple(_translator.hypotheses(text, strategy, prefix))


@st.cache_resource(max_entries=8, show_spinner="Running the batch …")
def _masked_pass(
    folder: str, stamps: Stamps, text: str, second: str, strategy: Strategy, lifted: str,
    _translator: Translator, _sentences: tuple[Trace, Trace],
) -> MaskedPass:  # fmt: skip
    return run_masked(_translator.model, _translator.tokenizer, _sentences, lifted)


@st.cache_resource(max_entries=32, show_spinner="Reading the block …")
def _stages(
    folder: str, stamps: Stamps, text: str, strategy: Strategy, kind: str, layer: int, _translator: Translator,
    _sentence: Trace,
) -> tuple[Stages, BlockParameters, dict[str, float]]:  # fmt: skip
    shown = record_stages(_translator.model, _sentence.source_ids, _sentence.fed_ids, kind, layer)
    parameters = block_parameters(_translator.model, kind, layer)
    memory = shown.memory if kind == "cross" else None
    return shown, parameters, differences(shown, compute_stages(shown.stream, memory, shown.open_cells, parameters))


@st.cache_resource(max_entries=16, show_spinner="Following the vectors …")
def _stream(
    folder: str, stamps: Stamps, text: str, strategy: Strategy, _translator: Translator, _sentence: Trace
) -> Stream:
    return record_stream(_translator.model, _sentence.source_ids, _sentence.fed_ids)


@st.cache_resource(max_entries=16, show_spinner="Initialising two models and going back through them …")
def _gradients(
    folder: str, stamps: Stamps, layers: int, seed: int, _translator: Translator, _examples: tuple[Example, ...]
) -> tuple[GradientNorms, ...]:
    config = _translator.model.config
    return tuple(gradient_norms(config, norm, layers, _examples[:PAIRS_FOR_GRADIENTS], seed) for norm in NORMS)


@st.cache_resource(max_entries=32, show_spinner="Reading every layer …")
def _lens(
    folder: str, stamps: Stamps, text: str, strategy: Strategy, _translator: Translator, _sentence: Trace,
    _passed: Stream,
) -> Lens:  # fmt: skip
    return logit_lens(_translator.model, _passed, _sentence.next_ids)


@st.cache_resource(max_entries=64, show_spinner=False)
def _gradient(
    folder: str, stamps: Stamps, text: str, strategy: Strategy, step: int, _translator: Translator, _sentence: Trace
) -> Attribution:
    fed, following = _sentence.fed_ids[: step + 1], _sentence.next_ids[step]
    return gradient_times_input(_translator.model, _sentence.source_ids, fed, following)


@st.cache_resource(max_entries=256, show_spinner=False)
def _left_out(
    folder: str, stamps: Stamps, text: str, strategy: Strategy, step: int, places: range, _translator: Translator,
    _sentence: Trace,
) -> LeftOut:  # fmt: skip
    fed, following = _sentence.fed_ids[: step + 1], _sentence.next_ids[step]
    return leave_out(_translator.model, _sentence.source_ids, fed, following, places)


@st.cache_resource(max_entries=64, show_spinner=False)
def _confidence(
    folder: str, stamps: Stamps, part: int, _translator: Translator, _examples: tuple[Example, ...]
) -> Confidence:
    return measure_confidence(_translator.model, _examples)


@st.cache_resource(max_entries=4, show_spinner="Reading the sentence pairs …")
def _samples(folder: str, stamps: Stamps, _translator: Translator) -> tuple[Example, ...]:
    return tuple(read_samples(Path(folder), _translator.tokenizer, _translator.model.config.max_length))


@st.cache_resource(max_entries=4, show_spinner="Reading the replay …")
def _replay(path: str, stamp: int) -> TrainingReplay:
    return load_replay(Path(path))


def _stamps(name: str) -> Stamps:
    """When each file of a checkpoint was last written, 0 where it is missing: caches are valid for these alone."""
    return tuple(_stamp(CHECKPOINTS / name / file) for file in _FILES)


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
