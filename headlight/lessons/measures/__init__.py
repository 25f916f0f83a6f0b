"""The measures that lessons ask for, by subject; importing this enters all of them into the register."""

from . import attention, hand, masks, scaling

__all__ = ["attention", "hand", "masks", "scaling"]
