"""Sentences on the logits of one step and on the tokens that sampling may draw."""

from collections.abc import Callable

import numpy as np

from headlight.app.finding import Finding, Templates
from transformer.decoding.sampling import Truncation

TEMPLATES = Templates.beside(__file__)
_TERMS = 4  # largest products of a logit that are written out


def logit_by_hand(hidden: np.ndarray, row: np.ndarray, logit: float, bias: float | None = None) -> Finding:
    """Write a logit as the decoder's last vector times the token's row of the output projection, plus its bias."""
    products = hidden.astype(np.float64) * row.astype(np.float64)
    order = np.argsort(-np.abs(products))[:_TERMS]
    total = products.sum() + (bias or 0.0)
    return TEMPLATES(
        "logit",
        terms=tuple(TEMPLATES("term", hidden=hidden[at], weight=row[at], dimension=at + 1) for at in order),
        others=len(products) - len(order),
        rest=products.sum() - products[order].sum(),
        bias="" if bias is None else TEMPLATES("bias", bias=bias),
        total=total,
        logit=logit,
        error=abs(total - float(logit)),
    )


def softmax_by_hand(cut: Truncation, token_id: int, probability: float) -> Finding:
    """Write a token's share of the sum of all exponentials, both less the largest logit."""
    largest = float(cut.logits.max())
    total, power = float(np.exp(cut.logits - largest).sum()), float(np.exp(cut.logits[token_id] - largest))
    return TEMPLATES(
        "softmax",
        logit=cut.logits[token_id],
        largest=TEMPLATES("positive" if largest >= 0 else "negative", largest=largest),
        power=power,
        total=total,
        share=power / total,
        tokens=len(cut.logits),
        probability=probability,
        error=abs(power / total - probability),
    )


def describe_cut(cut: Truncation, name: Callable[[int], str], temperature: float) -> Finding:
    """Return the number of tokens that may be drawn, the chances of the best, and the tokens never chosen."""
    best = int(cut.order[cut.retained[cut.order]][0])
    tempered = TEMPLATES("tempered", scaled=cut.scaled[best], temperature=temperature)
    finding = TEMPLATES(
        "cut", kept=int(cut.retained.sum()), tokens=len(cut.retained), best=name(best), drawn=float(cut.final[best])
    )
    return finding.followed_by(
        TEMPLATES("own", own=cut.plain[best], tempered="" if temperature == 1 else tempered),
        TEMPLATES("lost", lost=cut.scaled[~cut.retained].sum()),
        TEMPLATES("never", never=tuple(map(name, cut.forbidden))) if cut.forbidden else None,
    )
