"""The words of the explorer: what each kind is, what was measured of a head, and which heads to look at first."""

from plots.palette import KIND_NAMES
from plots.text import PATTERN_WORDS, pattern_words
from transformer.interpret.head_patterns import LEAST_ROWS, NOTABLE_SHARE, THRESHOLDS, HeadMeasures, Pattern

_ROWS = "A row is a token that reads, a column one that is read; a row's weights sum to 1."
_TOLD = {
    "encoder": f"Encoder self-attention: every source token reads every source token. {_ROWS}",
    "decoder": "Masked decoder self-attention: each row is one step of the decoder; it reads the token just fed and "
    "all fed before, and what comes later is masked and stays blank. A row's weights sum to 1.",
    "cross": "Cross-attention: each row is one step of the decoder; it reads the whole source sentence. Try both names "
    "for the rows: a source word often fits the step that was fed its translation better than the step that predicts "
    "it (Chen et al. 2020). A row's weights sum to 1.",
}

# label -> short enough for a thumbnail; what a head with this label does
_SHORT = {
    Pattern.PREVIOUS: "prev.",
    Pattern.SAME: "same",
    Pattern.NEXT: "next",
    Pattern.MIRRORED: "mirror",
    Pattern.END: "end",
    Pattern.BEGINNING: "start",
    Pattern.PUNCTUATION: "punct.",
    Pattern.ALIGNMENT: "align",
}
PATTERNS = {pattern: (short, PATTERN_WORDS[pattern]) for pattern, short in _SHORT.items()}

# measure -> its words, its unit, and whether a filter asks for at least or at most
MEASURES = {
    "confidence": ("mean of the rows' largest weights, </s> left out", "", "at least"),
    "entropy": ("mean entropy of the rows", "nats", "at most"),
    **{name: (f"rows with their largest weight {words}", "%", "at least") for name, (_, words) in PATTERNS.items()},
}


def explorer_words() -> dict:
    """All texts of the explorer that are the same for every sentence: names and explanations of the kinds, patterns,
    measures, and the rules of labelling.
    """
    return {"kinds": KIND_NAMES, "told": _TOLD, "patterns": PATTERNS, "measures": MEASURES, "rules": rules()}


def rules() -> list[str]:
    """How heads are measured and labelled, thresholds and sources stated, a sentence or two each."""
    labels = [
        f"{name}: at least {THRESHOLDS[name]:.0%} of its rows have their largest weight {words}."
        for name, (_, words) in PATTERNS.items()
    ]
    return [
        "Measured on this sentence alone, with its special tokens. Rows with a single token to read are left out.",
        f"A head has the first of these labels whose threshold it reaches, over at least {LEAST_ROWS} rows that could; "
        "any other head is said to have no clear pattern.",
        *labels,
        "The alignment is what this sentence's own heads agree on, each with the same say; none from outside is known.",
        "confidence: the mean of the rows' largest weights, the end of sentence left out (Voita et al. 2019).",
        "entropy: the mean over rows of −Σ w ln w, in nats: 0 where a row reads one token, ln n where n alike.",
        "Voita et al. 2019 call a head positional from 90 % on; the other thresholds are ours.",
        "Where a sentence has more tokens than a thumbnail has dots, several cells share one: it shows the largest.",
    ]


def look_words(head: HeadMeasures) -> str:
    """One head in a sentence of its numbers, with its label's words or that it has no clear pattern."""
    name = f"Layer {head.layer + 1}, head {head.head + 1}"
    sharp = f"a row's largest weight, </s> aside, is {_average(head.confidence)} on average"
    if head.label is not None:
        return f"{name}: {pattern_words(head, head.label)}; {sharp}."
    notable = {label: share / THRESHOLDS[label] for label, share in head.shares.items() if share >= NOTABLE_SHARE}
    nearest = f": {pattern_words(head, max(notable, key=notable.get))}, too few for a label" if notable else ""
    return f"{name} has no clear pattern{nearest}; {sharp}."


def _average(weight: float) -> str:
    return "over 0.99" if 0.995 <= weight < 1 else f"{weight:.2f}"
