"""What byway raises. The words are those of the command.

`Error` is the base of all. An exception that a function of yours raises (a decider, a
progress function) comes out as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing wrong with what was given."""

    file: str
    """The file's name; `"scenario"`, `"sweep"` or `"settings"` for what came from Python."""
    line: int
    """Line in the file, counted from 1; 0 for a dictionary, or when all of it is meant."""
    place: str
    """The keys that lead there, such as `path[0].rate`; empty for a file."""
    message: str
    """What was found and what would be right."""
    text: str
    """The line itself, as TOML."""


class Error(Exception):
    """The base of all errors of byway."""


class InputError(Error, ValueError):
    """Something given to byway is wrong; `problems` has every mistake with its place."""

    problems: tuple[Problem, ...]

    def __init__(
        self, message: str, problems: Iterable[tuple[str, int, str, str, str] | Problem] = ()
    ) -> None:
        super().__init__(message)
        self.problems = tuple(p if isinstance(p, Problem) else Problem(*p) for p in problems)

    def __reduce__(self) -> tuple[type[InputError], tuple[str, tuple[Problem, ...]]]:
        return type(self), (str(self), self.problems)


class ScenarioError(InputError):
    """A scenario cannot be read."""


class SweepError(InputError):
    """A sweep cannot be read."""


class SettingError(InputError):
    """A setting, or another argument, is refused."""


class RunError(Error, RuntimeError):
    """A run cannot be done: the protocol or the simulator refuses it."""


class StoreError(Error, OSError):
    """A file of runs cannot be used: the disk is full, it is damaged, or it belongs to
    something else. Runs that were finished are whole in the journal; the same call resumes
    with them. `errno` and `filename` are those of the system, if it was the system."""

    def __init__(
        self, message: str, number: int | None = None, filename: str | os.PathLike[str] | None = None
    ) -> None:
        super().__init__(message)
        self.errno = number
        self.filename = None if filename is None else os.fspath(filename)

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[type[StoreError], tuple[str, int | None, str | None]]:
        return type(self), (str(self), self.errno, self.filename)


class AssociationLost(Error, ConnectionError):
    """The association was lost before all was delivered; the message says why."""


class MissingPackage(Error, ImportError):
    """A package that this call needs is not installed; the message says how to get it."""
