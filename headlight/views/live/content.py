"""The live model in one file: its texts, the same for every sentence, and the page itself."""

from headlight.app.facts import pattern_words
from headlight.app.finding import Templates
from headlight.app.languages import FUNCTION_WORDS, language_name
from headlight.app.parameters import PARAMETERS, Parameter
from headlight.components.live import live_page
from headlight.language import name_of_language
from headlight.views.attention.explorer_content import OPTIONS
from headlight.views.home.content import cards_of
from headlight.views.inside.whole_pass_content import model_facts
from transformer.checkpoint import Checkpoint
from transformer.corpus import HeadRoles, sparse_tables
from transformer.exchange import pack, packed_size
from transformer.interpret.head_patterns import LEAST_ROWS, OFFSETS, THRESHOLDS
from transformer.training import TrainingReplay

from .replay import replay_words

# Of head patterns, for lib and live_page/patterns.js.
RULES = {
    "thresholds": THRESHOLDS,
    "leastRows": LEAST_ROWS,
    "offsets": OFFSETS,
}
_BESIDE = 550_000  # bytes of a page that are neither weights nor tokens
TEMPLATES = Templates.beside(__file__)


def live_file(
    checkpoint: Checkpoint,
    name: str,
    roles: HeadRoles | None = None,
    text: str = "",
    replay: TrainingReplay | None = None,
    lessons: dict | None = None,
) -> str:
    """Return one HTML file with a checkpoint in it, which translates and shows its attention without a server.

    name: the checkpoint's; roles: what its heads do over a corpus; text: the sentence to begin with; replay: that of
    its training, of which goes along what there is room for; lessons: see `headlight.lessons.export`. Raises
    CheckpointError for a model that a browser cannot run.
    """
    header, weights = pack(checkpoint)
    title = TEMPLATES.text("title", subject=subject(checkpoint, name))
    words = live_words(checkpoint, roles, text, replay) | ({"lessons": lessons} if lessons else {})
    return live_page(header, weights, words, title, *_origin(checkpoint, name))


def live_size(checkpoint: Checkpoint) -> int:
    """Return about how many bytes `live_file` has, which is not made; raises CheckpointError as it does."""
    return packed_size(checkpoint) * 4 // 3 + 9 * len(checkpoint.tokenizer) + _BESIDE


def subject(checkpoint: Checkpoint, name: str) -> str:
    """Return the languages of a checkpoint, "English to German", or its name where they are unknown."""
    read, written = (name_of_language(checkpoint.data.get(f"{side}_language", "")) for side in ("source", "target"))
    return TEMPLATES.text("subject", read=read, written=written) if read and written else name


def live_words(
    checkpoint: Checkpoint, roles: HeadRoles | None = None, text: str = "", replay: TrainingReplay | None = None
) -> dict:
    """Return the page's data for JavaScript: texts, thresholds, options, the cards of the home."""
    read, written = (checkpoint.data.get(f"{side}_language", "") for side in ("source", "target"))
    sides = name_of_language(read) or "source", name_of_language(written) or "target"
    cards, probes = cards_of(read, written, checkpoint.probes), checkpoint.probes
    settings = checkpoint.settings("label_smoothing")
    first = PARAMETERS["text"].default if read in ("English", "") or not probes else probes[0][0]
    return {
        "text": text or first,
        "model": model_facts(checkpoint.model),
        "languages": {"reads": language_name(read), "words": FUNCTION_WORDS},
        "smoothing": settings.label_smoothing if settings else 0,
        "rules": {**RULES, "patternWords": pattern_words()},
        "options": OPTIONS,
        "decoding": {name: _number(PARAMETERS[name]) for name in ("beam", "alpha", "temperature", "topk", "seed")},
        "replay": replay_words(replay, sides, checkpoint.training),
        "cards": [vars(card) for card in cards],
        "roles": roles and {"sentences": roles.sentences, **sparse_tables(roles)},
    }


def _number(parameter: Parameter) -> dict:
    """Return limits, default and step of a number that the page offers as the bar does."""
    assert parameter.limits is not None
    (least, most), usual = parameter.limits, parameter.default
    return {"least": least, "most": most, "usual": usual, "step": 1 if isinstance(usual, int) else 0.1}


def _origin(checkpoint: Checkpoint, name: str) -> tuple[str, list[str]]:
    """Return a line on the origin of the page and its weights, and the sources of their training data."""
    licence = checkpoint.data.get("licence", TEMPLATES.text("no_licence"))
    attribution = checkpoint.data.get("attribution", "")
    return TEMPLATES.text("origin", name=name, licence=licence), attribution.split("; ") if attribution else []
