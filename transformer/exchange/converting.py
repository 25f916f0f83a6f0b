"""Tokenizers of folders in Hugging Face's layout, converted by `transformers` into what a checkpoint keeps."""

import re
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..config import ModelConfig
from ..data.tokenizer import read_processor
from ..errors import CheckpointError, ConfigError
from ..files import object_bytes, parse_object
from . import imported_tokenizer as imported
from .families import T5S, Description
from .imported_tokenizer import FAST, MARIAN_FILES, SOURCE, TARGET_VOCABULARY, VOCABULARY, ImportedTokenizer, Settings

TOKENIZER_CONFIG = "tokenizer_config.json"
_MULTILINGUAL, _T5, _MERGES = "sentencepiece.bpe.model", "spiece.model", "merges.txt"
_TOKENS = ("special_tokens_map.json", "added_tokens.json")
NEEDED = (*MARIAN_FILES, TARGET_VOCABULARY, FAST, _MULTILINGUAL, _T5, _MERGES, TOKENIZER_CONFIG, *_TOKENS)
# Files from which each class of `transformers` reads a vocabulary: one of these groups.
_VOCABULARIES = {
    "BartTokenizer": ((VOCABULARY, _MERGES), (FAST,)),
    "M2M100Tokenizer": ((VOCABULARY, _MULTILINGUAL),),
    "MBart50Tokenizer": ((_MULTILINGUAL,), (FAST,)),
    "MBartTokenizer": ((_MULTILINGUAL,), (FAST,)),
    "NllbTokenizer": ((_MULTILINGUAL,), (FAST,)),
    "PegasusTokenizer": ((_T5,), (FAST,)),
    "T5Tokenizer": ((_T5,), (FAST,)),
}
_CLASSES = {"bart": "BartTokenizer", "pegasus": "PegasusTokenizer", "t5": "T5Tokenizer", "mt5": "T5Tokenizer"}
# Settings of a folder that `transformers` is given; others could name files elsewhere.
_TAKEN = (
    *("src_lang", "tgt_lang", "legacy_behaviour", "extra_ids", "offset"),
    *("additional_special_tokens", "extra_special_tokens", "added_tokens_decoder"),
)
# Tokens of languages: eng_Latn (NLLB), en_XX (mBART), __en__ (M2M100).
_LANGUAGE = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}|[a-z]{2}_[A-Z]{2}|__[a-z]{2,3}__")
_PREFERRED = ("eng_Latn", "en_XX", "en", "fra_Latn", "fr_XX", "fr")  # where a folder names no language to begin with
_BYT5_SENTINELS = 125


def convert_tokenizer(description: Description, config: ModelConfig) -> ImportedTokenizer:
    """Return the tokenizer of a folder; raises CheckpointError for missing, damaged or misfitting files."""
    files = imported.read_files(description.folder, NEEDED)
    stored = parse_object(files.get(TOKENIZER_CONFIG, b"{}"), TOKENIZER_CONFIG)
    classes = (stored.get("tokenizer_class"), description.stored.get("tokenizer_class"))
    if description.kind == "marian":
        contents, settings = _marian(files, description.folder, config)
    elif description.kind in T5S and "ByT5Tokenizer" in classes and not files.keys() & {_T5, FAST}:
        contents, settings = _bytes(config), _settings(config, unknown=2, before=[], after=[config.end_id])
    else:
        theirs = _opened(description, config, files, stored)
        contents, settings = _contents(theirs, files), _framed(theirs, description, config, stored)
    return ImportedTokenizer({imported.SETTINGS: settings.file, **contents}, config.begin_id)


def _settings(config: ModelConfig, **more: Any) -> Settings:
    try:
        return Settings(
            size=config.vocab_size, target_size=config.output_size, pad=config.pad_id, end=config.end_id, **more
        )
    except ConfigError as error:
        raise CheckpointError(f"The tokenizer does not fit its model: {error}.") from error


def _marian(files: Mapping[str, bytes], folder: Path, config: ModelConfig) -> tuple[dict[str, bytes], Settings]:
    _require_files(folder, files, (MARIAN_FILES,))
    ids = imported.read_vocabulary(files[VOCABULARY])
    _require_special(folder, config, ids["<pad>"], ids["</s>"])
    names = (*MARIAN_FILES, TARGET_VOCABULARY) if config.target_vocab_size else MARIAN_FILES
    contents = {name: files[name] for name in names if name in files}
    return contents, _settings(config, unknown=ids["<unk>"], before=[], after=[config.end_id])


def _bytes(config: ModelConfig) -> dict[str, bytes]:
    """Return ByT5's vocabulary, the bytes of UTF-8 behind three special tokens, as a tokenizer.json."""
    special = ("<pad>", "</s>", "<unk>")
    letters = [*special, *(imported.BYTE_LETTERS[byte] for byte in range(256))]
    sentinels = range(max(0, min(_BYT5_SENTINELS, config.vocab_size - len(letters))))
    library = imported.library()
    model = library.models.BPE({letter: number for number, letter in enumerate(letters)}, [])
    tokenizer = library.Tokenizer(model)
    tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = library.decoders.ByteLevel()
    tokenizer.add_special_tokens([*special, *(f"<extra_id_{number}>" for number in sentinels)])
    return {FAST: tokenizer.to_str().encode()}


def _class_name(description: Description, config: ModelConfig, files: Mapping[str, bytes]) -> str:
    if description.kind == "m2m_100":
        return "M2M100Tokenizer" if VOCABULARY in files else "NllbTokenizer"
    if description.kind == "mbart":  # its first form begins a translation with the target language
        return "MBart50Tokenizer" if config.begin_id == config.end_id else "MBartTokenizer"
    return _CLASSES[description.kind]


def _opened(description: Description, config: ModelConfig, files: Mapping[str, bytes], stored: dict) -> Any:
    """Return the tokenizer that `transformers` makes of the files, without the network and without code of theirs."""
    name = _class_name(description, config, files)
    _require_files(description.folder, files, _VOCABULARIES[name])
    for model in {_MULTILINGUAL, _T5} & files.keys():
        read_processor(model, files[model])
    try:
        import transformers
    except ImportError as error:
        raise imported.missing_extra("Importing a model of this family") from error
    taken = {key: stored[key] for key in _TAKEN if stored.get(key) is not None}
    with tempfile.TemporaryDirectory() as staged, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for file, content in {**files, TOKENIZER_CONFIG: object_bytes(taken)}.items():
            (Path(staged) / file).write_bytes(content)
        read = getattr(transformers, name).from_pretrained
        theirs = imported.guarded(
            f"The tokenizer in {description.folder}",
            lambda: read(staged, local_files_only=True, trust_remote_code=False),
        )
    _require_special(description.folder, config, theirs.pad_token_id, theirs.eos_token_id)
    return theirs


def _contents(theirs: Any, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files for a checkpoint: a tokenizer.json, or a SentencePiece model and its vocabulary (M2M100)."""
    if backend := getattr(theirs, "backend_tokenizer", None):
        return {FAST: backend.to_str().encode()}
    return {SOURCE: files[_MULTILINGUAL], VOCABULARY: object_bytes({**theirs.encoder, **theirs.lang_token_to_id})}


def _framed(theirs: Any, description: Description, config: ModelConfig, stored: Mapping[str, Any]) -> Settings:
    """Return the special tokens around a text: read off a text that `theirs` encodes."""
    forced, languages = description.first_token(), {}
    if description.kind in ("mbart", "m2m_100"):
        tokens = {**theirs.get_added_vocab(), **getattr(theirs, "lang_token_to_id", {})}
        languages = {token.strip("_"): each for token, each in tokens.items() if _LANGUAGE.fullmatch(token)}
        if not languages:
            raise CheckpointError(f"{description.folder} names no languages.")
        source = _first([stored.get("src_lang"), *_PREFERRED, *languages], languages)
        theirs.src_lang = source
        if config.begin_id != config.end_id:  # the only target language is the decoder's first input
            forced = None
        elif forced not in languages.values():
            forced = languages[_first([stored.get("tgt_lang"), *_PREFERRED, *languages], languages, but=source)]
    whole, inner = (theirs("a", add_special_tokens=special)["input_ids"] for special in (True, False))
    at = next(at for at in range(len(whole)) if whole[at : at + len(inner)] == inner)
    return _settings(
        config,
        unknown=theirs.unk_token_id,
        before=whole[:at],
        after=whole[at + len(inner) :],
        forced=[] if forced is None else [forced],
        languages=languages,
    )


def _first(preferred: Iterable[object], codes: Mapping[str, int], but: str = "") -> str:
    """Return the first of the wanted codes that exists and is not `but`; a code may be written as its token."""
    plain = (code.strip("_") for code in preferred if isinstance(code, str))
    return next((code for code in plain if code in codes and code != but), next(iter(codes)))


def _require_files(folder: Path, files: Mapping[str, bytes], groups: Sequence[Sequence[str]]) -> None:
    if not any(set(group) <= files.keys() for group in groups):
        missing = " or ".join(" and ".join(name for name in group if name not in files) for group in groups)
        raise CheckpointError(f"{folder} lacks files of its tokenizer: {missing}.")


def _require_special(folder: Path, config: ModelConfig, pad: int, end: int) -> None:
    if (pad, end) != (config.pad_id, config.end_id):
        raise CheckpointError(
            f"The vocabulary in {folder} has padding {pad} and end {end}; its config.json says {config.pad_id} and "
            f"{config.end_id}."
        )
