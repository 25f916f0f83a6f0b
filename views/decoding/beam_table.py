"""What a search found: every hypothesis with the numbers it was ranked by, and the choice of one."""

from collections.abc import Sequence

import streamlit as st

from transformer import Beam
from transformer.data.tokenizer import Tokenizer
from transformer.decoding.sampling import Hypothesis
from ui.selectors import one_number
from ui.widgets import show_table


def choose_hypothesis(found: Sequence[Hypothesis], beam: Beam, tokenizer: Tokenizer) -> int:
    """A table of all hypotheses and a row of buttons; returns the rank of the chosen one, 1 the best."""
    header = ("translation", "log P", "pieces", "length penalty", "score", "ended")
    rows = [
        (
            str(rank),
            (
                tokenizer.decode(list(one.ids)),
                f"{one.log_probability:.3f}",
                str(len(one.ids)),
                f"{beam.length_penalty(len(one.ids)):.3f}",
                f"{one.score:.3f}",
                "yes" if one.finished else "truncated",
            ),
        )
        for rank, one in enumerate(found, start=1)
    ]
    show_table("What beam search found, best first", "rank", header, rows)
    st.caption(
        "log P is the sum of the pieces' log-probabilities in nats, </s> included; score = log P / length penalty; "
        f"length penalty = ((5 + pieces) / 6)^{beam.alpha:g} (Wu et al. 2016, eq. 14).".replace("<", "\\<")
    )
    return one_number("Hypothesis to step through", len(found), "hypothesis")
