"""The tokenizer of a folder in Hugging Face's layout: of which make it is, and which languages it knows."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..config import ModelConfig
from ..data.byte_level_tokenizer import BYTE_LEVEL_FILES, ByteLevelTokenizer
from ..data.marian_tokenizer import MARIAN_FILES, TARGET_VOCABULARY, VOCABULARY, MarianTokenizer, read_vocabulary
from ..data.multilingual_tokenizer import SENTENCEPIECE, Languages, MultilingualTokenizer
from ..data.tokenizer import TextTokenizer
from ..errors import CheckpointError, ConfigError
from ..files import read_object
from .families import Description

TOKENIZER_CONFIG = "tokenizer_config.json"
_WHOLE, _SPECIAL, _ADDED = "tokenizer.json", "special_tokens_map.json", "added_tokens.json"
NEEDED = (
    *MARIAN_FILES,
    TARGET_VOCABULARY,
    *BYTE_LEVEL_FILES,
    SENTENCEPIECE,
    TOKENIZER_CONFIG,
    _WHOLE,
    _SPECIAL,
    _ADDED,
)
# How each family writes the token of a language: eng_Latn (NLLB), en_XX (mBART), __en__ (M2M100).
_LANGUAGE = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}|[a-z]{2}_[A-Z]{2}|__[a-z]{2,3}__")
# The languages of mBART's first form in their order (tokenization_mbart.py), which its folders need not name.
_MBART = re.findall(
    r"\w+",
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP nl_XX "
    "ro_RO ru_RU si_LK tr_TR vi_VN zh_CN",
)
_PREFERRED = ("eng_Latn", "en_XX", "en", "fra_Latn", "fr_XX", "fr")  # where a folder names no language to begin with


def read_tokenizer(description: Description, config: ModelConfig) -> TextTokenizer:
    """The tokenizer beside the weights; raises CheckpointError where it is missing, damaged or of another make."""
    folder = description.folder
    if description.kind == "marian":
        return MarianTokenizer.load(folder, config.begin_id)
    if description.kind == "bart":
        if not all((folder / name).exists() for name in BYTE_LEVEL_FILES):
            names = " and ".join(BYTE_LEVEL_FILES)
            raise CheckpointError(f"{folder} lacks the byte-level tokenizer of BART's models: {names}.")
        first = description.first_token()
        return ByteLevelTokenizer.of_folder(folder, config.begin_id, first, config.vocab_size)
    if not (folder / SENTENCEPIECE).exists():
        raise CheckpointError(f"{folder} lacks {SENTENCEPIECE}, which models of many languages are read with.")
    return MultilingualTokenizer.of_folder(folder, _languages(description, config), config.begin_id)


def _languages(description: Description, config: ModelConfig) -> Languages:
    folder = description.folder
    said = _object(folder / TOKENIZER_CONFIG)
    begins_with_end = config.begin_id == config.end_id  # mBART's first form begins with the target language instead
    ids = _language_ids(folder, said, [] if begins_with_end or description.kind != "mbart" else _MBART)
    codes = {code.strip("_"): id for code, id in ids.items()}
    forced = {id: code for code, id in codes.items()}.get(description.first_token(), "")  # type: ignore[arg-type]
    source = _first([said.get("src_lang"), *_PREFERRED, *codes], codes)
    target = _first([forced, said.get("tgt_lang"), *_PREFERRED, *codes], codes, source if not forced else None)
    try:
        return Languages(
            ids=codes,
            size=config.vocab_size,
            source=source,
            target=target if begins_with_end else "",
            mark="__{}__" if all(code.startswith("__") for code in ids) else "{}",
            source_first=begins_with_end and not said.get("legacy_behaviour", False),
            target_given=begins_with_end,
        )
    except ConfigError as error:
        raise CheckpointError(f"The languages in {folder} do not fit its configuration: {error}.") from error


def _language_ids(folder: Path, said: Mapping[str, object], otherwise: list[str]) -> dict[str, int]:
    """The id of each language's token: as a file says, or after the other pieces, in the order of a list."""
    added = _object(folder / _WHOLE).get("added_tokens", [])
    with_ids = {each.get("content"): each.get("id") for each in added if isinstance(each, dict)}
    found = _known(with_ids or _object(folder / _ADDED))
    if found:
        return {piece: (with_ids or _object(folder / _ADDED))[piece] for piece in found}  # type: ignore[misc]
    lists = [
        source.get(name) or []
        for source in (_object(folder / _SPECIAL), said)
        for name in ("additional_special_tokens", "extra_special_tokens")
    ]
    named = next((known for listed in lists if (known := _known(_contents(listed)))), otherwise)
    if not named:
        raise CheckpointError(f"{folder} names no languages, in {_WHOLE}, {_SPECIAL} or {TOKENIZER_CONFIG}.")
    first = _pieces_before(folder)
    return {piece: first + place for place, piece in enumerate(named)}


def _pieces_before(folder: Path) -> int:
    """How many pieces stand before the languages."""
    if (folder / VOCABULARY).exists():
        return len(read_vocabulary((folder / VOCABULARY).read_bytes()))
    return MultilingualTokenizer.count_pieces((folder / SENTENCEPIECE).read_bytes())


def _contents(listed: object) -> list[object]:
    """The texts of tokens that a list holds as texts or as descriptions."""
    each = listed if isinstance(listed, list) else []
    return [token.get("content") if isinstance(token, dict) else token for token in each]


def _known(pieces: Iterable[object]) -> list[str]:
    return [piece for piece in dict.fromkeys(pieces) if isinstance(piece, str) and _LANGUAGE.fullmatch(piece)]


def _first(wanted: Iterable[object], codes: Mapping[str, int], but: str | None = None) -> str:
    """The first of the wanted codes that is there and is not `but`; a code may be written as its token."""
    plain = (code.strip("_") for code in wanted if isinstance(code, str))
    return next((code for code in plain if code in codes and code != but), next(iter(codes)))


def _object(path: Path) -> dict:
    return read_object(path) if path.exists() else {}
