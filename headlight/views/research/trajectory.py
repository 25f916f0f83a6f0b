"""The trajectory of one token's vector through its stack."""

import numpy as np

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import choose_token
from headlight.app.finding import Finding
from headlight.app.results import TranslationRequest
from headlight.app.widgets import show_result, show_translation
from headlight.plots.architecture import sublayer_names
from headlight.plots.names import norm_name, sentence_case
from headlight.plots.numbers import percent, signed
from headlight.plots.tokens import quoted
from transformer.interpret.residual import Trajectory, trajectory


def show(request: TranslationRequest) -> None:
    """Show one token's vector after every sub-layer of its stack: lengths and directions. Raises UserError."""
    trace = show_translation(request)
    stack, token, tokens = choose_token(trace)
    followed = trajectory(getattr(results.residual_stream(request), stack), token)
    alt = f"Norm and direction of the vector of {tokens[token]} after every sub-layer"
    finding = describe_trajectory(followed, tokens[token])
    norm = norm_name(results.translator(request.checkpoint).model.config)
    figure = plots.trajectory(followed, norm, theme="page")
    attempt = "a full stop beside a noun: which of them do the sub-layers change more?"
    show_result(figure, "trajectory", alt, finding, attempt)


def describe_trajectory(trajectory: Trajectory, token: str) -> Finding:
    """Say which sub-layers change the vector most, and how similar to its embedding it ends."""
    names = sublayer_names(trajectory)
    inside = [index for index, (_, layer) in enumerate(trajectory.points) if layer is not None]
    turned = inside[int(np.argmin(trajectory.turns[inside]))]
    added = inside[int(np.argmax(trajectory.changes[inside]))]
    cosine, last = signed(trajectory.turns[turned], 2), float(trajectory.similarities[-1])
    return Finding(
        f"{quoted(token)} changes most in {names[turned]}.",
        f"The cosine with the vector before is {cosine}. {sentence_case(names[added])} adds the largest norm "
        f"({trajectory.changes[added]:.1f}, to {trajectory.norms[added - 1]:.1f}). The last vector's cosine with the "
        f"embedding is {signed(last, 2)}: {percent(last**2)} of its squared norm lies along the embedding's direction.",
    )
