"""Errors that a user can cause; pages and the command line show their text and nothing else."""

import re

_LONGEST = 2400  # characters of a sentence: NLLB's languages have as many
_NOT_SHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


class UserError(Exception):
    """Something a user can cause and mend; its text is one friendly sentence, on one line, whatever it quotes."""

    def __init__(self, text: object = ""):
        sentence = _NOT_SHOWN.sub(" ", str(text))
        super().__init__(sentence if len(sentence) <= _LONGEST else f"{sentence[:200]} … {sentence[-200:]}")


class EmptyTextError(UserError):
    """The text holds nothing to translate."""


class TooLongError(UserError):
    """The text has more tokens than the model has positions."""


class CheckpointError(UserError):
    """A checkpoint folder is missing, damaged, or of another version."""


class DataError(UserError):
    """A corpus cannot be read, or nothing usable is left of it."""


class ConfigError(UserError):
    """A configuration file is unreadable or asks for something that does not exist."""


class DownloadError(UserError):
    """A publisher cannot be reached, or what came is not what was expected."""


class DeviceError(UserError):
    """The device that was asked for does not exist on this machine."""


class InterventionError(UserError):
    """An intervention cannot be read, or asks for what the model does not have."""


class BusyError(UserError):
    """The machine has more to do already than it can promise to finish."""
