"""What is given to the functions of this package, looked at before anything runs."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from typing import Any, TypeVar

from .errors import SettingError

T = TypeVar("T")


def names(what: str, given: Any, of: str) -> list[str]:
    """A name, or some of them; `of` says what of: "policies".

    Raises SettingError for anything else, and for an empty list.
    """
    if isinstance(given, str):
        return [given]
    found = list(given) if isinstance(given, Iterable) and not isinstance(given, bytes) else None
    if not found or not all(isinstance(name, str) for name in found):
        raise SettingError(f"{what}: found {given!r}, expected names of {of}")
    return found


def function(what: str, given: T, takes: str) -> T:
    """Something that can be called, or None; `takes` says with what.

    Raises SettingError for anything else.
    """
    if given is not None and not callable(given):
        raise SettingError(f"{what}: found {given!r}, expected a function of {takes}")
    return given


PROGRESS = "two numbers: how much is done, of how much"


def file(what: str, given: Any) -> str:
    """The name of a file or folder; a `~` at its start is the home folder, as in a shell.

    Raises SettingError for anything else.
    """
    if not isinstance(given, (str, os.PathLike)) or not isinstance(os.fspath(given), str):
        raise SettingError(f"{what}: found {given!r}, expected a file's name")
    return os.path.expanduser(os.fspath(given))


def file_or_none(what: str, given: Any) -> str | None:
    """The same, or None for nothing."""
    return None if given is None else file(what, given)


def source(given: Any) -> Any:
    """A scenario or a sweep as it was given; of a file's name a `~` is the home folder."""
    if isinstance(given, (str, os.PathLike)) and not is_text(given):
        name = os.fspath(given)
        return os.path.expanduser(name) if isinstance(name, str) else given
    return given


def is_text(given: Any) -> bool:
    """Whether it is TOML text, which has several lines, and no file's name."""
    return isinstance(given, str) and "\n" in given


def width(given: Any) -> int:
    """Characters of a line, at least 20.

    Raises SettingError for what is no whole number from 0 to 10000.
    """
    return max(20, number("width", given, 0, 10_000))


def number(what: str, given: Any, least: int, most: int) -> int:
    """A whole number from `least` to `most`.

    Raises SettingError for anything else.
    """
    found = whole(given)
    if found is None or not least <= found <= most:
        raise SettingError(f"{what}: found {given!r}, expected a whole number, {least} to {most}")
    return found


def whole(given: Any) -> int | None:
    """A whole number, also one of numpy; None for anything else. True and False are none."""
    try:
        return None if isinstance(given, bool) else operator.index(given)
    except TypeError:
        return None


def seconds(what: str, given: Any, least: float, most: float) -> float:
    """A number of seconds from `least` to `most`.

    Raises SettingError for anything else.
    """
    is_number = isinstance(given, (int, float)) and not isinstance(given, bool)
    if not is_number or not least <= given <= most:
        raise SettingError(f"{what}: found {given!r}, expected seconds, {least:g} to {most:g}")
    return float(given)
