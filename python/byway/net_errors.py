"""What `byway.aio` raises, besides `byway.SettingError`. The words are those of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import Error

if TYPE_CHECKING:
    from ._aio_facts import Undelivered


class AddressError(Error, OSError):
    """An address cannot be used: it is no address, not of this host, or its port is taken.

    `errno` is the system's number of the error, if the system refused it.
    """

    def __init__(self, message: str, number: int | None = None) -> None:
        super().__init__(message)
        self.errno = number

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[type[AddressError], tuple[str, int | None]]:
        return type(self), (str(self), self.errno)


class ConnectFailed(Error, ConnectionError):
    """No association was established."""

    reason: str
    """Why, in words; empty if nothing was sent."""
    cause: str
    """Why, for programs: `"setup timed out"`, `"aborted by peer"`; see `AssociationLost`."""

    def __init__(self, message: str, reason: str = "", cause: str = "") -> None:
        super().__init__(message)
        self.reason, self.cause = reason, cause

    def __reduce__(self) -> tuple[type[ConnectFailed], tuple[str, str, str]]:
        return type(self), (str(self), self.reason, self.cause)


class AssociationLost(Error, ConnectionError):
    """The association was lost: it was aborted, or the peer could not be reached any more."""

    reason: str
    """Why, in words."""
    cause: str
    """Why, for programs: `"peer unreachable"`, `"data unacknowledged"`, `"aborted by peer"`,
    `"aborted locally"`, `"protocol violation"`, `"peer restarted"`, `"stale cookie"`,
    `"setup timed out"`, `"out of memory"`, `"protocol unreachable"`, `"port unreachable"` or `"refused"`."""
    undelivered_messages: int
    """Messages sent that the peer has not completely acknowledged. Some may have arrived.
    `unacknowledged` and `unsent` have them."""

    def __init__(
        self,
        message: str,
        reason: str = "",
        cause: str = "",
        undelivered_messages: int = 0,
        undelivered: tuple[Undelivered, ...] = (),
    ) -> None:
        super().__init__(message)
        self.reason, self.cause = reason, cause
        self.undelivered_messages = undelivered_messages
        self._undelivered = undelivered

    @property
    def unsent(self) -> list[Undelivered]:
        """The messages of which nothing has left: the peer has nothing of them (RFC 9260 section
        11.1.14). Each stream in its order."""
        return [m for m in self._undelivered if not m.sent]

    @property
    def unacknowledged(self) -> list[Undelivered]:
        """The messages of which a part has left and that the peer has not completely acknowledged:
        it may have all of them (RFC 9260 section 11.1.15). Each stream in its order."""
        return [m for m in self._undelivered if m.sent]

    def _told(self, undelivered: list[Undelivered]) -> None:
        self._undelivered = tuple(undelivered)

    def __reduce__(
        self,
    ) -> tuple[type[AssociationLost], tuple[str, str, str, int, tuple[Undelivered, ...]]]:
        facts = (self.reason, self.cause, self.undelivered_messages, self._undelivered)
        return type(self), (str(self), *facts)


class AssociationClosed(Error, EOFError):
    """The association was shut down gracefully: nothing more arrives or can be sent."""


class EndpointClosed(Error):
    """The endpoint is closed; bind another."""


class SendRefused(Error, ValueError):
    """A message or a command was refused. The association continues."""


class WrongProcess(Error, RuntimeError):
    """An endpoint or an association was used in a process forked from the one that made it."""


class WrongLoop(Error, RuntimeError):
    """An endpoint or an association was used in another event loop than its own."""
