"""The trace that the pages show: of a translation that was made with those of others, read from a pass over it."""

from transformer import Trace, Translator


def replayed(translator: Translator, text: str) -> Trace:
    """The greedy translation's trace, read from a replay; `trace` reads the same, but for rounding, while decoding."""
    return translator.record(text, decoded=translator.best_ids([text])[0])[0]
