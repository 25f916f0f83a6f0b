"""Facts of components as Python reads them."""

import base64

import numpy as np


def fact_array(fact: dict) -> np.ndarray:
    """Return an array of float32 that headlight/app/facts.py has encoded."""
    return np.frombuffer(base64.b64decode(fact["base64"]), "<f4").reshape(fact["shape"])
