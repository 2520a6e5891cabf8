"""Streams of an association as bytes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from . import _native
from .net_errors import AssociationClosed, AssociationLost

if TYPE_CHECKING:
    from .aio import Association

Buffer: TypeAlias = Any
"""Bytes, bytearray, memoryview, or another object with a buffer, such as an array of numpy."""

BLOCK: Final = 16 << 10
"""Most bytes of a message that a `StreamWriter` sends."""


class StreamReader:
    """The bytes of a stream, in the manner of `asyncio.StreamReader`. Made by
    `Association.open_stream`. The end is when the peer has shut down; a lost association raises
    `AssociationLost` instead, so that it does not look like the end."""

    def __init__(self, association: Association, stream: int) -> None:
        self._association = association
        self._stream = stream
        self._buffer = bytearray()
        self._ended = False

    async def _more(self) -> bool:
        """Adds the next message to the buffer; whether there was one."""
        message = await self._next()
        self._buffer += message
        return bool(message)

    async def _next(self) -> bytes:
        """The next message, empty at the end."""
        if self._ended:
            return b""
        try:
            return (await self._association.recv(stream=self._stream)).data
        except AssociationClosed:
            self._ended = True
            return b""

    def _cut(self, n: int) -> bytes:
        data = bytes(self._buffer[:n])
        del self._buffer[:n]
        return data

    async def read(self, n: int = -1) -> bytes:
        """At most `n` bytes, as soon as there are any; all until the end if `n` is negative.
        Empty at the end."""
        if n == 0:
            return b""
        if n < 0:
            while await self._more():
                pass
            return self._cut(len(self._buffer))
        if not self._buffer:
            message = await self._next()
            if len(message) <= n:
                return message
            self._buffer += message
        return self._cut(n)

    async def readexactly(self, n: int) -> bytes:
        """Exactly `n` bytes. Raises `asyncio.IncompleteReadError` at the end."""
        if n < 0:
            raise ValueError("readexactly takes a size from 0 on")
        while len(self._buffer) < n:
            if not await self._more():
                partial = self._cut(len(self._buffer))
                raise asyncio.IncompleteReadError(partial, n)
        return self._cut(n)

    async def readline(self) -> bytes:
        """A line with its `\\n`; at the end what is left."""
        try:
            return await self.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            return error.partial

    async def readuntil(self, separator: bytes = b"\n") -> bytes:
        """Bytes up to and with the separator. Raises `asyncio.IncompleteReadError` at the
        end."""
        if not separator:
            raise ValueError("the separator has at least one byte")
        searched = 0
        while True:
            at = self._buffer.find(separator, searched)
            if at >= 0:
                return self._cut(at + len(separator))
            searched = max(0, len(self._buffer) - len(separator) + 1)
            if not await self._more():
                partial = self._cut(len(self._buffer))
                raise asyncio.IncompleteReadError(partial, None)

    def at_eof(self) -> bool:
        """Whether the end has been reached and all bytes are read."""
        return self._ended and not self._buffer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while line := await self.readline():
            yield line


class StreamWriter:
    """Writes bytes to a stream, in the manner of `asyncio.StreamWriter`. Made by
    `Association.open_stream`. A write becomes messages of at most 16 KiB.

    SCTP cannot end one direction of one stream: use `Association.shutdown` to tell the peer that
    nothing more comes.
    """

    def __init__(self, association: Association, stream: int) -> None:
        self._association = association
        self._stream = stream
        self._waiting: deque[bytes] = deque()
        self._start = 0
        self._flush: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def association(self) -> Association:
        """The association."""
        return self._association

    def write(self, data: Buffer) -> None:
        """Queues bytes. They are sent in the background if there is no room now, so call `drain`
        now and then. Raises as `drain` does."""
        if self._closed:
            raise AssociationClosed("the stream's writer is closed")
        self._association._hub.check()
        chunk = data if type(data) is bytes else _native.to_bytes(data)
        if not chunk:
            return
        self._waiting.append(chunk)
        if self._flush is None and (self._association._writable.busy or not self._pour()):
            self._flush = asyncio.get_running_loop().create_task(self._send_rest())
            # An error is met again by the next write or drain.
            self._flush.add_done_callback(lambda task: task.cancelled() or task.exception())

    def writelines(self, lines: Iterable[Buffer]) -> None:
        """Queues all of them, as one."""
        self.write(b"".join(lines))

    def _pour(self) -> bool | None:
        """Queues what there is room for. `True` if that is all."""
        association = self._association
        gate = association._writable.native
        while self._waiting:
            chunk = self._waiting[0]
            try:
                start = association._native.write(chunk, self._start, BLOCK, self._stream, gate)
            except AssociationLost as lost:
                raise association._told(lost) from None
            self._start = start
            if self._start < len(chunk):
                return None
            self._waiting.popleft()
            self._start = 0
        return True

    async def _send_rest(self) -> None:
        try:
            await self._association._writable.first(self._pour)
        finally:
            self._flush = None

    async def drain(self) -> None:
        """Waits until everything written is in the send buffer. Raises `AssociationLost` or
        `AssociationClosed` if it cannot be sent. If the task is cancelled, sending continues in
        the background."""
        hub = self._association._hub
        hub.check()
        if self._flush is not None:
            await asyncio.shield(self._flush)
        elif self._waiting:
            await self._association._writable.first(self._pour)
        elif hub.spent():
            await asyncio.sleep(0)

    def can_write_eof(self) -> bool:
        """False: SCTP has no end of a stream."""
        return False

    def close(self) -> None:
        """Takes nothing more. What was written is still sent."""
        self._closed = True

    def is_closing(self) -> bool:
        """Whether it was closed, or the association has ended."""
        return self._closed or self._association.is_closed

    async def wait_closed(self) -> None:
        """Waits until everything written before `close` is in the send buffer."""
        await self.drain()
