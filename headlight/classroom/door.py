"""The way into a class: an address that a phone can reach, as a link and as its QR code.

Neither is ever one of this computer alone: `localhost` on a phone is the phone.
"""

import contextlib
import functools
import ipaddress
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from headlight.language import texts_of

from .opening import PORT_VARIABLE

_ANYWHERE = ("", "0.0.0.0", "::")  # of --server.address: every network of the computer
_NOWHERE = "192.0.2.1"  # kept for documentation (RFC 5737): nothing is sent, the system says which way it would go


@dataclass(frozen=True)
class Door:
    """A phone's way in: the link, "" without any; other links that may work; a problem, for the teacher."""

    link: str
    others: tuple[str, ...] = ()
    problem: str = ""


def door_of(url: str, path: str, listens: str, networks: tuple[str, ...], open_port: Callable[[], int]) -> Door:
    """Return the way into a class.

    url: the app's, as the teacher's browser has it. path: of the class below the server. listens: the server's own
    `--server.address`. networks: addresses that this computer has in its networks. open_port: lets phones in where the
    app listens to its own computer alone, and returns the port, 0 for none.
    """
    parts = urlsplit(url)
    if parts.hostname and not is_local(parts.hostname):
        return Door(f"{parts.scheme}://{parts.netloc}{path}")
    if not networks:
        return Door("", problem=_words()["no_network"])
    port = parts.port if listens in networks or listens in _ANYWHERE else open_port()
    if port == 0:
        return Door("", problem=_words()["closed"].format(variable=PORT_VARIABLE))
    links = tuple(f"http://{_in_address(each)}{f':{port}' if port else ''}{path}" for each in networks)
    return Door(links[0], links[1:])


def _words() -> Mapping[str, str]:
    return texts_of(Path(__file__).with_name("texts.toml"))["door"]


def is_local(host: str) -> bool:
    """Return whether a host's name or address can be reached from this computer alone."""
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host.partition("%")[0])
        return address.is_loopback or address.is_unspecified
    return host == "localhost" or host.endswith(".localhost")


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def own_networks() -> tuple[str, ...]:
    """Return the addresses of IPv4 that this computer has in its networks, the one it would go out by first."""
    addresses = []
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((_NOWHERE, 9))
        addresses.append(probe.getsockname()[0])
    with contextlib.suppress(OSError):
        addresses += socket.gethostbyname_ex(socket.gethostname())[2]
    return tuple(dict.fromkeys(each for each in addresses if not is_local(each)))


@functools.lru_cache(maxsize=64)
def qr_rows(link: str) -> tuple[str, ...]:
    """Return the QR code of a link, a row of "0" and "1" for each row of modules, without a border; () for no link."""
    if not link:
        return ()
    import segno  # no visitor without a class needs it

    return tuple("".join("1" if dark else "0" for dark in row) for row in segno.make(link, micro=False).matrix)
