"""The measures that lessons ask for, by subject; importing this enters all of them into the register."""

from . import attention, decoding, hand, learning, masks, order, scaling

__all__ = ["attention", "decoding", "hand", "learning", "masks", "order", "scaling"]
