"""What `byway.aio` raises, besides `byway.SettingError`. The words are those of the command."""

from __future__ import annotations

from .errors import Error


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
    `"setup timed out"`, `"out of memory"` or `"refused"`."""
    undelivered_messages: int
    """Messages sent that the peer has not completely acknowledged. Some may have arrived.
    `Association.undelivered` gives them."""

    def __init__(
        self, message: str, reason: str = "", cause: str = "", undelivered_messages: int = 0
    ) -> None:
        super().__init__(message)
        self.reason, self.cause = reason, cause
        self.undelivered_messages = undelivered_messages

    def __reduce__(self) -> tuple[type[AssociationLost], tuple[str, str, str, int]]:
        return type(self), (str(self), self.reason, self.cause, self.undelivered_messages)


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
