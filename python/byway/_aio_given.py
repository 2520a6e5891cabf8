"""Addresses and settings as they are given to `byway.aio`."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from . import _native
from .errors import SettingError
from .net_errors import AddressError

Settings: TypeAlias = Mapping[str, Any]
"""Settings by key, such as `{"rto.min": "100ms"}` or `{"rto": {"min": "100ms"}}`."""

ENCAPSULATION_PORT: Final = 9899
"""The registered UDP port of SCTP over UDP (RFC 6951 section 7)."""

_RIGHT = "write an address such as 10.0.0.1, 10.0.0.1:9899 or [2001:db8::1]:9899"


def _literal(host: str) -> str | None:
    """The address as it is written with a port; `None` for a name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    scope = address.scope_id
    if scope is not None and not scope.isdigit():
        try:
            scope = str(socket.if_nametoindex(scope))
        except OSError:
            raise AddressError(f"{host}: this host has no interface {scope}") from None
    plain = ipaddress.IPv6Address(int(address))
    return f"[{plain}%{scope}]" if scope else f"[{plain}]"


def _split(text: str) -> tuple[str, int | None]:
    """Host and port, the port `None` if there is none."""
    if not isinstance(text, str):
        raise TypeError(f'an address is text such as "10.0.0.1:9899", not {text!r}')
    text = text.strip()
    if not text:
        raise AddressError(f"an address is missing; {_RIGHT}")
    if text.startswith("[") and text.endswith("]"):
        return text[1:-1], None
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")):
        return text, None
    if not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise AddressError(f'{text}: "{port}" is not a UDP port; {_RIGHT}')
    return host.strip("[]"), int(port)


async def resolve(addresses: str | Iterable[str], default_port: int) -> list[str]:
    """Addresses with their ports. A port that is written once counts for all without one."""
    if isinstance(addresses, str):
        addresses = [addresses]
    parts = [(text, *_split(text)) for text in addresses]
    ports = {port for _, _, port in parts if port is not None}
    default = ports.pop() if len(ports) == 1 else default_port
    found: list[str] = []
    for text, host, port in parts:
        if port is None:
            port = default
        literal = _literal(host)
        hosts = [literal] if literal is not None else await _look_up(text, host)
        named = [f"{h}:{port}" for h in hosts]
        new = [address for address in named if address not in found]
        if not new:
            raise AddressError(f"{text}: is listed twice")
        found.extend(new)
    return found


async def _look_up(text: str, host: str) -> list[str]:
    try:
        infos = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        raise AddressError(f"{text}: neither an address nor a known host; {_RIGHT}") from None
    hosts = (_literal(str(info[4][0])) for info in infos)
    return list(dict.fromkeys(h for h in hosts if h is not None))


def source(remote: str) -> str | None:
    """The local address of the kernel's route. A UDP socket that connects sends nothing."""
    host, port = _split(remote)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((host, port or ENCAPSULATION_PORT))
            local = _literal(probe.getsockname()[0])
            return f"{local}:0"
    except OSError:
        return None


def _changes(settings: Settings, above: str = "") -> list[tuple[str, str]]:
    """Keys and values as the command takes them."""
    found: list[tuple[str, str]] = []
    for key, value in settings.items():
        if not isinstance(key, str):
            raise TypeError(f'a setting\'s key is text such as "rto.min", not {key!r}')
        place = above + key
        if isinstance(value, Mapping):
            found.extend(_changes(value, place + "."))
        else:
            found.append((place, _value(place, value)))
    return found


def _value(place: str, value: object, inner: bool = False) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if inner else value
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(place, item, True) for item in value) + "]"
    raise TypeError(
        f"{place}: a setting is text, a number, true or false, or a list of these, not {value!r}"
    )


def settings_of(preset: str | None, settings: Settings | None) -> _native.SocketSettings:
    """The settings of a preset with changes, checked."""
    return _native.socket_settings(preset or "byway", _changes(settings or {}))


def whole_number(name: str, value: int, least: int, most: int) -> None:
    """Refuses a limit that makes no sense."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        message = f"{name}: found {value!r}, expected a whole number, {least} to {most}"
        raise SettingError(message, [("settings", 0, name, message, "")])


def local_ip(address: str) -> str:
    """An address of this side, as `Endpoint.addresses` and `Path.local` write it or without its port."""
    host, _ = _split(address)
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        raise AddressError(f"{address}: is not an address; {_RIGHT}") from None
    # The card of a link-local address is left out.
    return str(ipaddress.IPv6Address(int(ip)) if isinstance(ip, ipaddress.IPv6Address) else ip)


def udp_port(encapsulation: str) -> int:
    """The port of an address that is written without one."""
    if encapsulation not in ("udp", "none", "both"):
        raise AddressError(f'encapsulation: found {encapsulation!r}, expected "udp", "none" or "both"')
    return 0 if encapsulation == "none" else ENCAPSULATION_PORT


def sctp_port(port: int, least: int) -> int:
    """A port, checked."""
    if isinstance(port, bool) or not isinstance(port, int):
        raise TypeError(f"port is the SCTP port, a number up to 65535, not {port!r}")
    if not least <= port <= 65535:
        raise AddressError(f"port {port}: an SCTP port is a number from {least} to 65535")
    return port
