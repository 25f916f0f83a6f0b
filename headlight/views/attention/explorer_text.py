"""The texts of the explorer: what each kind is, what was measured of a head, and which heads to look at first."""

from headlight.plots.text import KIND_NAMES, PATTERN_WORDS, counted, pattern_words, percent
from transformer.interpret.head_patterns import LEAST_ROWS, NOTABLE_SHARE, THRESHOLDS, HeadMeasures, Pattern
from transformer.interpret.head_roles import HeadRoles

_ROWS = "A row is a query, a column is a key; a row's weights sum to 1."
_KINDS = {
    "encoder": f"Encoder self-attention: every source token attends to every source token. {_ROWS}",
    "decoder": "Masked decoder self-attention: each row is one step of the decoder, which attends to its input token "
    f"and all earlier ones; later tokens are masked and stay blank. {_ROWS}",
    "cross": "Cross-attention: each row is one step of the decoder, which attends to the whole source sentence. Try "
    "both labels for the rows: a source word often fits the step whose input is its translation better than the step "
    f"that predicts it (Chen et al. 2020). {_ROWS}",
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
    Pattern.OUTPUT_ALIGNMENT: "align",
    Pattern.INPUT_ALIGNMENT: "align in",
}
PATTERNS = {pattern: (short, PATTERN_WORDS[pattern]) for pattern, short in _SHORT.items()}

# measure -> its meaning, its unit, and whether a filter asks for at least or at most
MEASURES = {
    "confidence": ("mean of the rows' largest weights, </s> left out", "", "at least"),
    "entropy": ("mean entropy of the rows", "nats", "at most"),
    **{name: (f"rows with their largest weight {words}", "%", "at least") for name, (_, words) in PATTERNS.items()},
}


# What can be chosen in the explorer by its name in an address, what is usual first.
OPTIONS = {
    "view": ("map", "lines"),
    "rows": ("predicted", "fed"),
    "words": ("pieces", "words", "first pieces"),
    "specials": ("shown", "hidden", "renormalised"),
    "together": ("mean", "sum"),
    "scale": ("0 to 1", "per map"),
    "kinds": ("one", "all three"),
    "label": ("all", *PATTERNS, "none"),
    "sort": ("layer", *MEASURES),
    "top": tuple(map(str, range(100, 9, -1))),
    "least": tuple(map(str, range(101))),
}


def explorer_words() -> dict:
    """All texts of the explorer that are the same for every sentence: names and explanations of the kinds, patterns,
    measures, and the rules of labelling.
    """
    return {"kinds": KIND_NAMES, "told": _KINDS, "patterns": PATTERNS, "measures": MEASURES, "rules": rules()}


def rules() -> list[str]:
    """How heads are measured and labelled, thresholds and sources stated, a sentence or two each."""
    labels = [
        f"{name}: at least {percent(THRESHOLDS[name])} of its rows have their largest weight {words}."
        for name, (_, words) in PATTERNS.items()
    ]
    return [
        "Measured in this sentence alone, with its special tokens. Rows with a single unmasked key are left out.",
        f"A head has the first of these labels whose threshold it reaches, over at least {LEAST_ROWS} rows that could "
        f"({2 * LEAST_ROWS} for {Pattern.MIRRORED}); any other head has no clear pattern, nor has one with two equal "
        "maxima in a row.",
        *labels,
        "Both alignments: the source word aligned with a token is the one on which the average of all cross-attention "
        "heads puts most in the row that predicts the token. It is what this sentence's own heads agree on; no "
        "reference alignment is known. Special tokens and punctuation are left out.",
        "A label holds for this sentence; how often a head has it over a corpus is said beside it, where that was "
        "measured (python -m transformer heads).",
        "confidence: the mean of the rows' largest weights, the end of sentence left out (Voita et al. 2019, 4).",
        "entropy: the mean over rows of −Σ w ln w, in nats: 0 for a single key, ln n for equal weights on n keys.",
        "Voita et al. 2019 (5.1) call a head positional whose largest weights are, over a corpus, to 90 % on the token "
        "before, or to 90 % on the one after; the other patterns and thresholds are ours.",
        "Where a sentence has more tokens than a thumbnail has dots, several cells share one: it shows the largest.",
    ]


def look_words(head: HeadMeasures, roles: HeadRoles | None = None) -> str:
    """One head in a sentence of its numbers: its label with threshold, rows and share, and how often it has the label
    over a corpus; or that it has no clear pattern.
    """
    name = f"Layer {head.layer + 1}, head {head.head + 1}"
    sharp = f"a row's largest weight, </s> aside, is {_average(head.confidence)} on average"
    if head.label is not None:
        often = role_words(head, roles)
        labelled = f"{name}, labelled {head.label} (from {percent(THRESHOLDS[head.label])} on)"
        return f"{labelled}: {pattern_words(head, head.label)}{f' ({often})' if often else ''}; {sharp}."
    notable = {label: share / THRESHOLDS[label] for label, share in head.shares.items() if share >= NOTABLE_SHARE}
    if not notable:
        return f"{name} has no clear pattern; {sharp}."
    nearest = max(notable, key=notable.get)
    why = "but a row has two equal maxima" if notable[nearest] >= 1 else "too few for a label"
    return f"{name} has no clear pattern: {pattern_words(head, nearest)}, {why}; {sharp}."


def role_words(head: HeadMeasures, roles: HeadRoles | None) -> str:
    """How often a head has its label over the corpus: "it has this label in 87 % of 400 sentences"; "" if unknown."""
    if roles is None or head.label is None:
        return ""
    share = roles.share(head.kind, head.layer, head.head, head.label)
    return f"it has this label in {percent(share)} of {counted(roles.sentences, 'sentence')}"


def _average(weight: float) -> str:
    return "over 0.99" if 0.995 <= weight < 1 else f"{weight:.2f}"
