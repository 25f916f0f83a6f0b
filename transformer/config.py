"""Configurations: what a model is, how it is trained, and what it is trained on."""

import dataclasses
import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from .errors import ConfigError
from .untrusted import read_toml


class Norm(StrEnum):
    """Position of LayerNorm: after each residual sum (paper, 5.4), or before each sub-layer."""

    POST = "post"
    PRE = "pre"


class NormType(StrEnum):
    """Normalisation of vectors: LayerNorm (Ba et al. 2016), or RMSNorm, without mean and bias (Zhang et al. 2019)."""

    LAYER = "layer"
    RMS = "rms"


class Positions(StrEnum):
    """Encoding of positions (paper, 3.5), or a bias on scores by distance (T5: Raffel et al. 2020, 2.1)."""

    SINUSOIDAL = "sinusoidal"
    LEARNED = "learned"
    NONE = "none"
    MULTIPLIED = "multiplied"
    RELATIVE = "relative"


class ModelKind(StrEnum):
    """Kind of a checkpoint's model: encoder and decoder (paper, figure 1), or one causal stack for both."""

    ENCODER_DECODER = "encoder-decoder"
    ONE_STACK = "one stack"


class TokenizerType(StrEnum):
    """Kind of SentencePiece model: merges (Sennrich et al. 2016), or pieces with probabilities (Kudo 2018)."""

    BPE = "bpe"
    UNIGRAM = "unigram"


class Activation(StrEnum):
    """Activation of the hidden units: ReLU (paper, 3.3), or another (Hendrycks and Gimpel 2016)."""

    RELU = "relu"
    GELU = "gelu"
    GELU_NEW = "gelu_new"  # GELU by a hyperbolic tangent, a little other numbers
    SILU = "silu"


class FeedForwardType(StrEnum):
    """Activation of a linear map (paper, 3.3), or that times a second linear map (Shazeer 2020)."""

    PLAIN = "plain"
    GATED = "gated"


class Schedule(StrEnum):
    """Learning rate after warm-up: falling (paper, 5.3), or constant."""

    NOAM = "noam"
    CONSTANT = "constant"


class Precision(StrEnum):
    """Number format of the products in training; "auto": bfloat16 on an NVIDIA GPU, float32 elsewhere."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    AUTO = "auto"


# A configuration may come from an unknown source: nothing in it may ask for more memory than a machine has.
_BOUNDS = {
    "vocab_size": (4, 1_000_000),
    "num_encoder_layers": (1, 100),
    "num_decoder_layers": (1, 100),
    "num_heads": (1, 1024),
    "d_model": (2, 65_536),
    "d_ff": (1, 262_144),
    "max_length": (2, 8192),
    "first_position": (0, 8192),
    "position_base": (2, 10**12),
    "target_vocab_size": (0, 1_000_000),
    "head_size": (0, 65_536),
    "relative_buckets": (4, 65_536),
    "relative_distance": (2, 1_000_000),
    "norm_epsilon": (0, 1),
}
_MOST_OF_POSITIONS = 2**25  # max_length x d_model, a table of 128 MB: narrow heads let a small file ask for gigabytes


@dataclass(frozen=True)
class ModelConfig:
    """The shape of an encoder-decoder Transformer (Vaswani et al. 2017, section 3 and table 3).

    `max_length` counts the tokens of one side, special tokens included. `norm` is "post" (paper, 5.4:
    LayerNorm(x + Sublayer(x))) or "pre" (x + Sublayer(LayerNorm(x)), with a final LayerNorm on each stack).
    `positions` is what tells the order: "sinusoidal" (paper, 3.5), "learned", a table a side among the weights, "none",
    "multiplied", a well-known slip that multiplies by the wavelength where it should divide, or "relative": nothing is
    added to the embeddings, but to the scores of self-attention a learned number for each head and each of
    `relative_buckets` ranges of distances, one table a side; another would begin at `relative_distance` (T5). The
    sinusoids' base is `position_base`, and the first token stands at `first_position`: 10000 and 0 in the paper.
    `norm_type` is "layer" or "rms", and `norm_epsilon` what either adds under its root. `embedding_norm` puts a norm
    after the sum of embedding and position (BART). `share_embeddings` ties both embeddings and the output projection
    (paper, 3.4), or the target's two where it has a vocabulary of its own, of `target_vocab_size` pieces (0: the
    source's); with `separate_output` the projection is not among them (T5 1.1).
    `feed_forward` is "plain" or "gated", with two linear maps into the hidden units, and `activation` its function;
    `scale_embeddings` multiplies embeddings by sqrt(d_model) (paper, 3.4), `scale_output` what the output projection is
    given by 1 / sqrt(d_model) (T5), and `scale_scores` divides scores by sqrt(d_k) (paper, 3.2.1). `head_size` is d_k
    where that is not d_model / num_heads (0: it is). `bias` is False where no linear map of a layer adds one;
    `output_bias` adds a number for each piece to the logits. `pad_id`, `begin_id` and `end_id` are the special tokens;
    the decoder's first input is `begin_id`, which is Marian's padding and BART's end of sentence. With
    `forced_first_token` a translation's first token, such as its language, is not chosen and in no score.
    Raises ConfigError for values that no model can have.
    """

    vocab_size: int
    num_encoder_layers: int = 6
    num_decoder_layers: int = 6
    num_heads: int = 8
    d_model: int = 512
    d_ff: int = 2048
    dropout: float = 0.1
    max_length: int = 128
    norm: Norm = Norm.POST
    positions: Positions = Positions.SINUSOIDAL
    position_base: float = 10000.0
    first_position: int = 0
    relative_buckets: int = 32
    relative_distance: int = 128
    head_size: int = 0
    scale_scores: bool = True
    bias: bool = True
    norm_type: NormType = NormType.LAYER
    norm_epsilon: float = 1e-5
    embedding_norm: bool = False
    share_embeddings: bool = True
    separate_output: bool = False
    target_vocab_size: int = 0
    feed_forward: FeedForwardType = FeedForwardType.PLAIN
    activation: Activation = Activation.RELU
    scale_embeddings: bool = True
    scale_output: bool = False
    output_bias: bool = False
    pad_id: int = 0
    begin_id: int = 2
    end_id: int = 3
    forced_first_token: bool = False

    def __post_init__(self):
        check_types(self)
        check_bounds(self, _BOUNDS)
        computed = self.positions in (Positions.SINUSOIDAL, Positions.MULTIPLIED)
        message = f"d_model must be even, one sine and one cosine a pair, not {self.d_model}."
        require(self.d_model % 2 == 0 or not computed, message)
        message = f"num_heads must divide d_model: {self.d_model} is not a multiple of {self.num_heads}."
        require(self.head_size or self.d_model % self.num_heads == 0, message)
        size = self.max_length * self.d_model
        message = f"max_length times d_model must be at most {_MOST_OF_POSITIONS:,}, not {size:,}."
        require(size <= _MOST_OF_POSITIONS, message)
        half = self.relative_buckets // 2  # the ranges that are one distance each
        message = f"relative_distance must be more than {half}, half of relative_buckets, not {self.relative_distance}."
        require(self.relative_distance > half, message)
        message = "separate_output is for models whose embeddings are shared: without, the output is separate."
        require(self.share_embeddings or not self.separate_output, message)
        require(0 <= self.dropout < 1, f"dropout must be in [0, 1), not {self.dropout}.")
        for name in ("pad_id", "begin_id", "end_id"):
            value, size = getattr(self, name), min(self.vocab_size, self.output_size)
            require(0 <= value < size, f"{name} must be in the vocabulary of {size}, not {value}.")

    @property
    def d_k(self) -> int:
        """Dimensions of one head: d_model / num_heads (paper, 3.2.2), or the size of their own that heads have."""
        return self.head_size or self.d_model // self.num_heads

    @property
    def ties_output(self) -> bool:
        """True where the output projection has the matrix of the target's embedding."""
        return self.share_embeddings and not self.separate_output

    @property
    def output_size(self) -> int:
        """Pieces of the target's vocabulary: the logits of a step."""
        return self.target_vocab_size or self.vocab_size

    @property
    def num_forced(self) -> int:
        """First tokens of a translation that are forced on it, and so in no score: 1 or 0."""
        return int(self.forced_first_token)

    @property
    def never_chosen(self) -> tuple[int, ...]:
        """Padding and begin of sentence, which may be one; not the end, with which some decoders begin."""
        return tuple(token_id for token_id in dict.fromkeys((self.pad_id, self.begin_id)) if token_id != self.end_id)


@dataclass(frozen=True)
class TokenizerConfig:
    """Training of the joint SentencePiece model: number of pieces, the share of characters to cover, and its kind."""

    vocab_size: int = 8000
    character_coverage: float = 1.0
    model_type: TokenizerType = TokenizerType.BPE

    def __post_init__(self):
        check_types(self)
        require(self.vocab_size >= 8, f"tokenizer vocab_size must be at least 8, not {self.vocab_size}.")
        require(0 < self.character_coverage <= 1, "character_coverage must be in (0, 1].")


@dataclass(frozen=True)
class TrainingConfig:
    """Settings of a training (paper, section 5).

    `batch_tokens` bounds sentences times the longer side's padded length. `rate_factor` multiplies the schedule;
    with `schedule` = "constant" it is the rate itself after warm-up. The rate falls linearly to zero over the last
    `cooldown_steps`. `accumulate` batches in a row make one update, as if they were one batch of their size together.
    The weights that are validated and kept are the mean of the last `average_last` validations' (paper, 6.1); after
    `patience` validations in a row without a better BLEU the run ends early (0: never). `join_probability` is the share
    of pairs that are read together with the next one as one longer example, so that a corpus of short sentences also
    teaches later positions. `segmentation_dropout` draws the pieces of the sources anew each epoch: of byte-pair
    encoding it is the probability that a merge is left out (Provilkov et al. 2020), of a unigram model the share of
    sources whose pieces are drawn (Kudo 2018). Times are in optimiser steps.
    """

    max_steps: int = 100_000
    batch_tokens: int = 4096
    accumulate: int = 1
    warmup_steps: int = 4000
    schedule: Schedule = Schedule.NOAM
    rate_factor: float = 1.0
    cooldown_steps: int = 0
    label_smoothing: float = 0.1
    clip_norm: float = 1.0
    join_probability: float = 0.0
    segmentation_dropout: float = 0.0
    validate_every: int = 500
    validate_sentences: int = 500
    save_every: int = 100
    average_last: int = 1
    patience: int = 0
    seed: int = 1
    precision: Precision = Precision.AUTO
    compile: bool = True

    def __post_init__(self):
        check_types(self)
        positive = ("max_steps", "batch_tokens", "warmup_steps", "validate_every", "save_every", "average_last")
        for name in (*positive, "validate_sentences", "accumulate"):
            require(getattr(self, name) >= 1, f"{name} must be at least 1, not {getattr(self, name)}.")
        require(self.patience >= 0, f"patience must be 0, for never, or more, not {self.patience}.")
        require(0 <= self.cooldown_steps <= self.max_steps, "cooldown_steps must lie between 0 and max_steps.")
        require(0 <= self.label_smoothing < 1, f"label_smoothing must be in [0, 1), not {self.label_smoothing}.")
        require(self.rate_factor > 0 and self.clip_norm > 0, "rate_factor and clip_norm must be positive.")
        require(0 <= self.join_probability <= 1, "join_probability must be in [0, 1].")
        require(0 <= self.segmentation_dropout < 1, "segmentation_dropout must be in [0, 1).")


@dataclass(frozen=True)
class DataConfig:
    """Name, languages and licence of a corpus, shown with its checkpoint."""

    name: str
    source_language: str
    target_language: str
    licence: str
    attribution: str

    def __post_init__(self):
        check_types(self)


@dataclass(frozen=True)
class ReplayConfig:
    """Probes of the training replay, each a source and a target; none for no replay."""

    probes: tuple[tuple[str, str], ...] = ()

    def __post_init__(self):
        pairs = isinstance(self.probes, list | tuple) and all(map(_is_pair_of_texts, self.probes))
        require(pairs, 'probes must be a list of pairs of texts, such as [["Go!", "Los!"]].')
        object.__setattr__(self, "probes", tuple(map(tuple, self.probes)))  # TOML has lists


@dataclass(frozen=True)
class Experiment:
    """Everything one training run depends on besides the corpus itself: the content of a CONFIG.toml."""

    model: ModelConfig
    tokenizer: TokenizerConfig
    training: TrainingConfig
    data: DataConfig
    replay: ReplayConfig = dataclasses.field(default_factory=ReplayConfig)

    def as_dict(self) -> dict:
        """Plain nested dictionaries and lists, as JSON holds them."""
        return json.loads(json.dumps(dataclasses.asdict(self)))


def shipped_configs() -> Path:
    """Return the folder of the shipped configurations: in the installed package, or beside it in the repository."""
    installed = Path(__file__).parent / "configs"
    return installed if installed.is_dir() else Path(__file__).parents[1] / "configs"


def locate_config(name: str) -> Path:
    """Return the file of this path, else the shipped configuration of this name, such as "en-de"; else the path."""
    shipped = shipped_configs() / f"{name}.toml"
    is_name = Path(name).name == name and not Path(name).exists()
    return shipped if is_name and shipped.is_file() else Path(name)


def load_experiment(path: Path) -> Experiment:
    """Read a CONFIG.toml with the tables [model], [tokenizer], [training], [data] and, where there is one, [replay].

    `model.vocab_size` is the tokenizer's. Raises ConfigError with the place, and for more than 256 kB.
    """
    try:
        tables = read_toml(path)
    except FileNotFoundError as error:
        names = ", ".join(sorted(shipped.stem for shipped in shipped_configs().glob("*.toml")))
        raise ConfigError(f"There is no configuration {path}; those of these names are shipped: {names}.") from error
    except OSError as error:
        raise ConfigError(f"The configuration {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise ConfigError(f"The configuration {path} is not valid TOML: {error}.") from error
    unknown = tables.keys() - {field.name for field in dataclasses.fields(Experiment)}
    require(not unknown, f"Unknown table [{', '.join(sorted(unknown))}] in {path}.")
    tokenizer, model = build(TokenizerConfig, tables.get("tokenizer", {}), "tokenizer"), tables.get("model", {})
    require(isinstance(model, dict), "[model] must be a table of settings.")
    return Experiment(
        model=build(ModelConfig, {**model, "vocab_size": tokenizer.vocab_size}, "model"),
        tokenizer=tokenizer,
        training=build(TrainingConfig, tables.get("training", {}), "training"),
        replay=build(ReplayConfig, tables.get("replay", {}), "replay"),
        data=build(DataConfig, tables.get("data", {}), "data", apart=("train", "valid")),  # data.mixture reads these
    )


def _is_pair_of_texts(probe) -> bool:
    two = isinstance(probe, list | tuple) and len(probe) == 2
    return two and all(isinstance(side, str) and side.strip() for side in probe)


def build(kind: type, settings, table: str, apart: tuple[str, ...] = ()):
    """Make a `kind` of a dictionary's settings but those `apart`; raises ConfigError for an unknown or missing one."""
    require(isinstance(settings, dict), f"[{table}] must be a table of settings.")
    fields = {field.name: field for field in dataclasses.fields(kind)}
    known = (*fields, *apart)
    for name in settings:
        require(name in known, f"Unknown setting {name!r} in [{table}]; choose from {', '.join(known)}.")
    for name, field in fields.items():
        require(name in settings or field.default is not dataclasses.MISSING, f"[{table}] needs {name!r}.")
    return kind(**{name: settings[name] for name in settings if name in fields})


def check_types(config) -> None:
    """Raise ConfigError for a value not of its field's type (an int is a float, too); texts of names become names."""
    for name, kind in type(config).__annotations__.items():
        value = getattr(config, name)
        if issubclass(kind, StrEnum):
            named = isinstance(value, str) and value in tuple(kind)
            require(named, f"{name} must be one of {', '.join(kind)}, not {value!r}.")
            object.__setattr__(config, name, kind(value))
        else:
            right = isinstance(value, int | float if kind is float else kind)
            right = right and (kind is bool or not isinstance(value, bool))
            require(right, f"{name} must be {kind.__name__}, not {value!r}.")


def check_bounds(config, bounds: dict[str, tuple[int, int]]) -> None:
    """Raise ConfigError where a field is less or more than its bounds allow."""
    for name, (least, most) in bounds.items():
        value = getattr(config, name)
        require(least <= value <= most, f"{name} must be between {least} and {most:,}, not {value}.")


def require(condition: object, message: str) -> None:
    """Raise ConfigError with this message unless the condition holds."""
    if not condition:
        raise ConfigError(message)
