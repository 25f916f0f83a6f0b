"""The measures that lessons ask for, by subject; importing this enters all of them into the register."""

from . import attention

__all__ = ["attention"]
