"""What the LayerNorms of a model have learned."""

import numpy as np
from torch import nn

from .model import Transformer


def norm_parameters(model: Transformer) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Name, gamma and beta, [d_model] each, of every LayerNorm."""
    return [
        (name, module.weight.detach().cpu().numpy(), module.bias.detach().cpu().numpy())
        for name, module in model.named_modules()
        if isinstance(module, nn.LayerNorm)
    ]
