"""The logit lens: what the model would predict if it stopped after an earlier layer (nostalgebraist 2020)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from .model import Transformer
from .stream import Stream
from .trace import read_only

TOP = 5  # candidates kept a layer and step


@dataclass(frozen=True, eq=False)
class Lens:
    """Every decoder layer's vectors put through the generator. Layer 0 is the start, fed token plus position; the last
    row is the model's own prediction.

    best_ids, best_probabilities: [layers + 1, target, TOP], most probable first; probabilities and ranks (1 is most
    probable) of the token that follows in the end: [layers + 1, target]; entropies in nats: [layers + 1, target].
    """

    best_ids: np.ndarray
    best_probabilities: np.ndarray
    probabilities: np.ndarray
    ranks: np.ndarray
    entropies: np.ndarray


@torch.inference_mode()
def logit_lens(model: Transformer, stream: Stream, following: Sequence[int]) -> Lens:
    """Read each layer of a recorded stream; `following` are the ids that come next, one a row.

    With pre-norm the stack's last LayerNorm is applied to every layer, as it is to the last. With post-norm each layer
    ends with its own.
    """
    layers = len(model.decoder)
    vectors = [stream.decoder.start, *(stream.decoder.of_layer(layer)[-1].after for layer in range(layers))]
    hidden = model.decoder_norm(torch.tensor(np.stack(vectors), device=model.device))  # layers+1 target d_model
    logs = model.generator(hidden).log_softmax(dim=-1)
    top = logs.topk(min(TOP, logs.shape[-1]), dim=-1)
    chosen = logs.gather(-1, torch.tensor(list(following), device=model.device).expand(layers + 1, -1)[..., None])
    arrays = (
        top.indices, top.values.exp(), chosen[..., 0].exp(), (logs > chosen).sum(dim=-1) + 1,
        -(logs.exp() * logs).sum(dim=-1),
    )  # fmt: skip
    return Lens(*(read_only(array.cpu().numpy()) for array in arrays))
