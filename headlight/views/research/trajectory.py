"""The trajectory of one token's vector through its stack."""

import numpy as np

import headlight.plots as plots
from headlight.app import results
from headlight.app.choices import choose_token
from headlight.app.finding import Finding, Templates
from headlight.app.results import TranslationRequest
from headlight.app.widgets import show_result, show_translation
from headlight.plots.architecture import sublayer_names
from headlight.plots.names import norm_name, sentence_case
from transformer.interpret.residual import Trajectory, trajectory

TEMPLATES = Templates.beside(__file__)


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
    """Return the sub-layers that turn the vector most and add most, and its final similarity to the embedding."""
    names = sublayer_names(trajectory)
    inside = [index for index, (_, layer) in enumerate(trajectory.points) if layer is not None]
    turned = inside[int(np.argmin(trajectory.turns[inside]))]
    added = inside[int(np.argmax(trajectory.changes[inside]))]
    last = float(trajectory.similarities[-1])
    adds = {"adding_at": added, "added": trajectory.changes[added], "norm": trajectory.norms[added - 1]}
    return TEMPLATES("turns", token=token, turning=names[turned], turned=turned).followed_by(
        TEMPLATES("cosine", cosine=trajectory.turns[turned]),
        TEMPLATES("adds", adding=sentence_case(names[added]), **adds),
        TEMPLATES("last", last=last, share=last**2),
    )
