"""Multihomed SCTP (RFC 9260) over UDP (RFC 6951) for asyncio.

An endpoint has one SCTP port on one or more local addresses. It connects to peers and accepts
their associations. An association carries messages on numbered streams over all paths between
two hosts, and moves the traffic when a path fails. No privileges are needed.

    import asyncio, byway.aio

    async def main() -> None:
        async with await byway.aio.bind(["127.0.0.1:0", "127.0.0.2:0"], port=7) as server:
            async with await byway.aio.connect(server.addresses, port=7) as association:
                await association.send(b"hello")
                accepted = await server.accept()
                print((await accepted.recv()).data)

    asyncio.run(main())

Times are seconds, sizes bytes. An endpoint and its associations belong to the event loop in
which they were made, and to its process; several loops in several threads can each have their
own. Sockets are driven by threads of byway that run no Python code: timers and acknowledgements
do not wait for the interpreter's lock.

When an event loop is closed (`asyncio.run` returns) or the interpreter ends, associations that
are still open are aborted: await `Association.shutdown` or `Endpoint.close` before. When the last
reference to an association goes, a graceful shutdown starts in the background.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import AsyncIterator, Iterable
from operator import index
from types import TracebackType
from typing import Any, Literal, Self, SupportsIndex

from . import _native
from ._aio_facts import (
    AddressChanged,
    AddressChangeRefused,
    AssociationStats,
    DataPathChanged,
    EndpointStats,
    Event,
    Lost,
    Other,
    PartsGivenUp,
    Path,
    PathAdded,
    PathChanged,
    PathDeadForData,
    PathEstimate,
    PathMoved,
    PathRemoved,
    PathState,
    PeerError,
    PeerShutdown,
    PrimaryChanged,
    Restarted,
    ShutdownComplete,
    Undelivered,
    Up,
    path_facts,
)
from ._aio_facts import event as event_of
from ._aio_given import (
    ENCAPSULATION_PORT,
    Settings,
    local_ip,
    resolve,
    sctp_port,
    settings_of,
    source,
    udp_port,
    whole_number,
)
from ._aio_loop import Gate, Hub, result
from ._aio_streams import Buffer, StreamReader, StreamWriter
from ._native import Message
from .errors import Error
from .net_errors import (
    AddressError,
    AssociationClosed,
    AssociationLost,
    ConnectFailed,
    EndpointClosed,
    SendRefused,
    WrongLoop,
    WrongProcess,
)

__all__ = [
    "AddressChangeRefused",
    "AddressChanged",
    "AddressError",
    "Association",
    "AssociationClosed",
    "AssociationLost",
    "AssociationStats",
    "Buffer",
    "ConnectFailed",
    "DataPathChanged",
    "ENCAPSULATION_PORT",
    "Endpoint",
    "EndpointClosed",
    "EndpointStats",
    "Error",
    "Event",
    "Lost",
    "Message",
    "Other",
    "PartsGivenUp",
    "Path",
    "PathAdded",
    "PathChanged",
    "PathDeadForData",
    "PathEstimate",
    "PathMoved",
    "PathRemoved",
    "PathState",
    "PeerError",
    "PeerShutdown",
    "PrimaryChanged",
    "Restarted",
    "SendRefused",
    "ShutdownComplete",
    "StreamReader",
    "StreamWriter",
    "Undelivered",
    "Up",
    "WrongLoop",
    "WrongProcess",
    "bind",
    "connect",
]


# --- endpoints -----------------------------------------------------------------------------------


async def bind(
    local: str | Iterable[str],
    *,
    encapsulation: str = "udp",
    beside_kernel_sctp: bool = False,
    port: int = 0,
    preset: str | None = None,
    settings: Settings | None = None,
    accept: bool = True,
    backlog: int = 1024,
    max_associations: int = 65_536,
    max_associations_per_peer: int = 16_384,
    max_memory: int = 256 << 20,
    workers: int = 1,
) -> Endpoint:
    """Binds an endpoint.

    `local` has 1 to 8 addresses of this host, each with its UDP port: `"10.0.0.1:9899"`,
    `"[2001:db8::1]:9899"`, or a name, which means all of its addresses. If only one port is
    written, it counts for all addresses; if none is, 9899. Port 0 is any free port, the same for
    all. `0.0.0.0` and `::` stand for the addresses of this host and follow them while they come
    and go.

    `encapsulation` is what carries SCTP: `"udp"` (RFC 6951); `"none"`, which needs CAP_NET_RAW and a
    kernel without SCTP, and where no address has a port; or `"both"`, where port 0 of a peer's
    address is without UDP. `beside_kernel_sctp` goes without UDP although the kernel's SCTP is
    loaded: its ABORTs end the associations unless a filter keeps them back.

    `port` is the SCTP port; 0 means the number of the first UDP port, or without UDP one that is
    free. `preset` names the settings
    to start from, `"byway"` unless given, and `settings` changes some, as `--preset` and `--set`
    of the command do. `accept` says whether peers may set up associations; `backlog` limits those
    that wait for `accept`, `max_associations` all of them, `max_associations_per_peer` those that
    one peer's address sets up. `max_memory` (bytes) limits what all associations together keep;
    above fifteen sixteenths of it, the one that holds most is lost (`cause` "out of memory").

    `workers`, 1 to 64, share the associations: each has sockets of its own on the same addresses and
    ports, and moves their packets by itself, so that several processors work. Python sees one
    endpoint. The peer's SCTP port decides which worker has an association; so associations with
    peers that all have one SCTP port are at one worker. Each has an equal share of the limits
    above. Several need `encapsulation="udp"`. byway's threads start with the first endpoint of a
    process: as many as there are processors, and no more than its workers or four, whichever is
    more.

    Raises `AddressError` when an address cannot be bound, `byway.SettingError` when a setting or
    a number cannot work.
    """
    checked = settings_of(preset, settings)
    limits = {
        "backlog": backlog,
        "max_associations": max_associations,
        "max_associations_per_peer": max_associations_per_peer,
        "max_memory": max_memory,
    }
    for name, limit in limits.items():
        whole_number(name, limit, 1, 2**48)
    # How many there may be says byway itself; this is what it cannot be asked.
    is_count = isinstance(workers, int) and not isinstance(workers, bool)
    if not (is_count and 0 <= workers < 2**32):
        whole_number("workers", workers, 1, 64)
    addresses = await resolve(local, udp_port(encapsulation))
    hub = Hub.here()
    native = _native.Endpoint(
        hub.native,
        addresses,
        encapsulation,
        beside_kernel_sctp,
        sctp_port(port, 0),
        checked,
        accept,
        backlog,
        max_associations,
        max_associations_per_peer,
        max_memory,
        workers,
    )
    return Endpoint(hub, native, checked, preset, settings, udp_port(encapsulation))


async def connect(
    remote: str | Iterable[str],
    *,
    port: int,
    local: str | Iterable[str] | None = None,
    encapsulation: str = "udp",
    beside_kernel_sctp: bool = False,
    preset: str | None = None,
    settings: Settings | None = None,
) -> Association:
    """Sets up an association from a new endpoint.

    `remote` and `port` are as for `Endpoint.connect`, `encapsulation` and `beside_kernel_sctp` as for
    `bind`. `local` has the local addresses, with any free UDP port unless one is written. Without it,
    those are taken from which the kernel's routes reach `remote`; name them to have more than one
    path on a host with several cards.

    A peer that does not answer is given up after minutes; use `asyncio.timeout` to wait less.
    Raises `ConnectFailed`, and what `bind` and `Endpoint.connect` raise.
    """
    sctp_port(port, 1)
    there = await resolve(remote, udp_port(encapsulation))
    if local is None:
        sources = [found for found in map(source, there) if found is not None]
        here = list(dict.fromkeys(sources))
        if there and not here:
            raise AddressError(
                f"no route to any address ({', '.join(there)}); name local addresses with local="
            )
    else:
        here = await resolve(local, 0)
    endpoint = await bind(
        here,
        encapsulation=encapsulation,
        beside_kernel_sctp=beside_kernel_sctp,
        preset=preset,
        settings=settings,
        accept=False,
    )
    association = await endpoint.connect(there, port=port)
    association._only = endpoint
    return association


class Endpoint:
    """One SCTP port on one or more local addresses. Made by `bind`.

    `async with` closes it at the end: gracefully, or by aborting its associations if there was
    an exception. `async for` gives the associations that peers set up.
    """

    def __init__(
        self,
        hub: Hub,
        native: _native.Endpoint,
        checked: _native.SocketSettings,
        preset: str | None,
        settings: Settings | None,
        udp_port: int,
    ) -> None:
        self._hub = hub
        self._udp_port = udp_port
        self._native = native
        self._checked = checked
        self._preset, self._settings = preset, settings
        self._incoming = Gate(hub)

    @property
    def addresses(self) -> list[str]:
        """The local addresses with their UDP ports, as they are bound."""
        return self._native.addresses()

    @property
    def port(self) -> int:
        """The SCTP port."""
        return self._native.port()

    @property
    def association_count(self) -> int:
        """Associations that have not ended, established or not."""
        return self._native.association_count()

    @property
    def memory(self) -> int:
        """Bytes that all associations take: what peers can make this side keep, ended associations
        included as long as they are referred to. `max_memory` of `bind` limits it."""
        return self._native.memory()

    def stats(self) -> EndpointStats:
        """Counters."""
        return EndpointStats(**self._native.stats())

    async def accept(self) -> Association:
        """The next association that a peer has set up. If the task is cancelled, no association
        is lost. Raises `EndpointClosed`."""
        accepted = await self._accept()
        if accepted is None:
            raise EndpointClosed("the endpoint is closed and accepts nothing more; bind another")
        return accepted

    async def _accept(self) -> Association | None:
        self._hub.check()
        poll = self._native.accept
        native: _native.Association | Literal[False] = await self._incoming.first(
            lambda: poll(self._incoming.native), self._hub.spent()
        )
        # `False` once the endpoint is closed.
        return Association(self._hub, native) if native else None

    def __aiter__(self) -> AsyncIterator[Association]:
        return self

    async def __anext__(self) -> Association:
        accepted = await self._accept()
        if accepted is None:
            raise StopAsyncIteration
        return accepted

    async def connect(
        self,
        remote: str | Iterable[str],
        *,
        port: int,
        preset: str | None = None,
        settings: Settings | None = None,
    ) -> Association:
        """Sets up an association with a peer.

        `remote` has the peer's addresses with their UDP ports, written as for `bind`. One is
        enough, as the peer lists its others; with more, the association is set up although a path
        is down. `port` is the peer's SCTP port. `settings` and `preset` are for this association
        instead of those of the endpoint.

        A peer that does not answer is given up after minutes; use `asyncio.timeout` to wait less.
        If the task is cancelled, the association is given up. Raises `ConnectFailed`,
        `AddressError`, `EndpointClosed` or `byway.SettingError`.
        """
        self._hub.check()
        checked = self._checked
        if preset is not None or settings is not None:
            checked = settings_of(preset, settings)
        there = await resolve(remote, self._udp_port)
        operation = self._native.connect(there, sctp_port(port, 1), checked)
        return Association(self._hub, await result(self._hub, operation))

    async def close(self) -> None:
        """Stops accepting, shuts all associations down gracefully, and waits until they have
        ended and the ports are free. `asyncio.timeout` and then `abort` limit the time."""
        self._hub.check()
        await result(self._hub, self._native.close())

    async def abort(self, reason: str | bytes = b"") -> None:
        """Stops accepting, aborts all associations, and waits until the ABORTs are sent and the
        ports are free: about 0.2 s if there were associations. The ABORTs carry the first 256
        bytes of `reason`."""
        self._hub.check()
        await result(self._hub, self._native.abort(_reason(reason)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            await self.close()
        else:
            await self.abort(kind.__name__)

    def __repr__(self) -> str:
        try:
            return f"<Endpoint {', '.join(self.addresses)}, SCTP port {self.port}>"
        except WrongProcess:
            return "<Endpoint of another process>"


# --- associations --------------------------------------------------------------------------------


class Association:
    """An association with a peer. Made by `connect`, `Endpoint.connect` and `Endpoint.accept`.

    `async with` ends it at the end: gracefully, or by an abort if there was an exception.
    `async for` gives the messages of all streams until the peer has shut down.
    """

    def __init__(self, hub: Hub, native: _native.Association) -> None:
        self._hub = hub
        self._native = native
        self._writable = Gate(hub)
        self._eventful = Gate(hub)
        # By stream; `None` for those who read all streams.
        self._readable: dict[int | None, Gate] = {None: Gate(hub)}
        self._arrived: dict[int | None, deque[Message]] = {None: deque()}
        self._writers: weakref.WeakSet[StreamWriter] = weakref.WeakSet()
        # The endpoint, if this is all that it is for.
        self._only: Endpoint | None = None
        self._undelivered: list[Undelivered] = []

    # --- messages ---

    async def send(
        self,
        data: Buffer,
        *,
        stream: int = 0,
        ppid: int = 0,
        unordered: bool = False,
        immediate_ack: bool = False,
        path: Path | int | None = None,
        context: int = 0,
    ) -> None:
        """Sends a message of at least one byte.

        Waits until the send buffer has room for it (`buffer.send` of the settings, 1 MiB unless
        changed); tasks that wait are served in their order. When it returns, the message is
        queued; `drained` waits for its acknowledgement. If the task is cancelled while it waits,
        the message is not sent.

        `ppid` is the payload protocol identifier, 0 to 2**32 - 1. `unordered` delivers the
        message regardless of the order of its stream; `immediate_ack` asks the peer for an
        acknowledgement without delay (RFC 7053); `path` sends it on this path if it works.
        `context`, 0 to 2**64 - 1, is not sent: `Undelivered.context` has it again if the message
        is not delivered (RFC 9260 section 11.1.5).

        Raises `SendRefused` when the message is not valid, `AssociationClosed` and
        `AssociationLost` when the association has ended.
        """
        hub = self._hub
        hub.check()
        gate = self._writable
        rest = hub.spent()
        make = self._native.message if gate.busy or rest else self._native.send
        try:
            via = None if path is None else _path(path)
            unsent = make(data, stream, ppid, unordered, immediate_ack, via, context)
            if unsent is None:
                return
            waiting = unsent
            await gate.first(lambda: waiting.poll(gate.native), rest)
        except (OverflowError, TypeError):
            _number("stream", stream, 65_535)
            _number("ppid", ppid, 4_294_967_295)
            _number("context", context, 2**64 - 1)
            raise
        except AssociationLost as lost:
            raise self._told(lost) from None

    async def recv(self, *, stream: int | None = None) -> Message:
        """The next message of a stream, or of any stream.

        A message longer than half of the receive buffer (512 KiB unless `buffer.receive` or
        `buffer.partial_delivery_point` say else) arrives in parts: join them until `last`.

        If several tasks receive at once, each message goes to one of them, in their order. From
        the first call with a `stream` on, messages are sorted by stream: then all streams on
        which the peer sends must be read, because one with 1 MiB unread blocks the others. If the
        task is cancelled, no message is lost.

        Raises `AssociationClosed` when the peer has shut down and everything has been read, and
        `AssociationLost` when the association was lost.
        """
        self._hub.check()
        lane = None if stream is None else self._lane(stream)
        gate = self._readable[lane]
        rest = self._hub.spent()
        try:
            if not (gate.busy or rest):
                message = self._take(lane)
                if message is not None:
                    return message
            return await gate.first(lambda: self._take(lane), rest)
        except AssociationLost as lost:
            raise self._told(lost) from None

    def _lane(self, stream: int) -> int:
        """Sorts messages by stream from now on."""
        if stream in self._readable:
            return stream
        _number("stream", stream, 65_535)
        self._native.open_stream(stream)
        self._readable[stream] = Gate(self._hub)
        arrived = self._arrived[None]
        self._arrived[stream] = deque(m for m in arrived if m.stream == stream)
        self._arrived[None] = deque(m for m in arrived if m.stream != stream)
        return stream

    def _take(self, lane: int | None) -> Message | None:
        """The next message, if it has arrived."""
        arrived = self._arrived[lane]
        if arrived:
            return arrived.popleft()
        # A batch for all streams would take what readers of one stream wait for.
        most = 1 if lane is None and len(self._readable) > 1 else 1024
        batch = self._native.receive(lane, most, self._readable[lane].native)
        if batch is None:
            return None
        if not batch:
            self._native.raise_end()
        arrived.extend(batch)
        return arrived.popleft()

    async def __aiter__(self) -> AsyncIterator[Message]:
        try:
            while True:
                yield await self.recv()
        except AssociationClosed:
            return

    def open_stream(self, stream: int = 0) -> tuple[StreamReader, StreamWriter]:
        """A stream as bytes, without message boundaries, in the manner of `asyncio`.

        Both sides may open a stream of the same number; nothing is sent for that. As with
        `recv(stream=…)`, all streams on which the peer sends must then be read.
        """
        lane = self._lane(_number("stream", stream, 65_535))
        writer = StreamWriter(self, lane)
        self._writers.add(writer)
        return StreamReader(self, lane), writer

    @property
    def interleaves(self) -> bool:
        """Whether messages of different streams interleave: both sides offered it
        (`streams.interleaving` of the settings; RFC 8260). Then `recv` without `stream` may give
        parts of long messages of several streams in turn."""
        return self._native.interleaves()

    def set_stream_value(self, stream: int, value: int) -> None:
        """Sets the value of an outbound stream for `streams.scheduler` of the settings: its priority
        (0, the default, is the highest) or its weight (0 counts as 1); other schedulers ignore it
        (RFC 8260 section 4.3.3). Up to 65535. It counts for messages that are sent from now on. Raises
        `SendRefused` when there is no such stream."""
        self._native.set_stream_value(
            _number("stream", stream, 65_535), _number("value", value, 65_535)
        )

    async def drained(self) -> None:
        """Waits until the peer has acknowledged all messages. Raises `AssociationLost`."""
        self._hub.check()
        await self._end(self._native.drained())

    # --- paths, events, counters ---

    def paths(self) -> list[Path]:
        """The paths: their addresses, states, windows and counters."""
        return [path_facts(facts) for facts in self._native.paths()]

    def stats(self) -> AssociationStats:
        """Counters."""
        return AssociationStats(**self._native.stats())

    def settings(self) -> str:
        """The settings in use, one `key = value` a line, as scenarios write them. Those of what
        is off are comments. Empty when the association has ended long ago."""
        return self._native.settings()

    async def events(self) -> AsyncIterator[Event]:
        """What happens to the association, until it has ended.

        All readers share one queue, so each event goes to one of them. It keeps the last 256
        events; `events_missed` counts those that were dropped.
        """
        gate = self._eventful
        while True:
            self._hub.check()
            event: tuple[str, dict[str, Any]] | Literal[False] = await gate.first(
                lambda: self._native.event(gate.native), self._hub.spent()
            )
            # `False` after the last.
            if not event:
                return
            name, fields = event
            yield event_of(name, fields)

    @property
    def events_missed(self) -> int:
        """How many events were dropped because they were not read in time."""
        return self._native.events_missed()

    def set_primary(self, path: Path | int) -> None:
        """Makes a path the primary: new data goes there while it is active. Raises `SendRefused`
        when there is no such path or it is unconfirmed. It is no backup any more."""
        self._native.set_primary(_path(path))

    def set_backup(self, path: Path | int, backup: bool) -> None:
        """Makes a path a backup, or ends that: a backup carries data, new or sent again, only while
        no other path is active. It is monitored as before. SCTP has no such flag, so the peer does
        not know of it and sends where it wants to; MPTCP's has the same sense (RFC 8684 section
        3.3.8). A message with `path` goes there all the same. `Path.backup` tells it. Raises
        `SendRefused` when there is no such path."""
        self._native.set_backup(_path(path), backup)

    def set_peer_primary(self, local: Path | str) -> None:
        """Asks the peer to send to this address of this side while it can (RFC 5061 section 4.2.4):
        one of `Endpoint.addresses`, with or without its port, or that of a path. The event
        `AddressChanged` or `AddressChangeRefused` says what became of it. Raises `SendRefused` when
        a side does not support changes of addresses or the address is not one of this side."""
        self._native.set_peer_primary(local_ip(local.local if isinstance(local, Path) else local))

    def request_heartbeat(self, path: Path | int) -> None:
        """Sends a heartbeat on a path now. Raises `SendRefused` when there is no such path."""
        self._native.request_heartbeat(_path(path))

    # --- hostile peers ---

    def take_handshake(self) -> bool:
        """Whether to answer a handshake of the peer, such as one of TLS, which costs a signature and a
        key exchange before the peer has proved anything. Ask before the first answer. It counts: a
        host gets 20 a second, and 256 after a pause; all hosts together get 200 a second, and beyond
        that 100 for those that ask seldom. What is refused is counted (`handshakes_refused` in
        `EndpointStats.refusals`); tell the peer so with `abort`."""
        return self._native.take_handshake()

    def give_handshake_back(self) -> None:
        """The peer has proved who it is: its handshake does not count any more. Call it at most once
        after each `take_handshake`."""
        self._native.give_handshake_back()

    def count_violation(self) -> None:
        """The peer has broken the protocol that the application speaks. Say so before you `abort` the
        association. It is charged to the host; see `bars_violator`."""
        self._native.count_violation()

    def bars_violator(self) -> bool:
        """Whether to refuse this association, because its host has broken the protocol of the
        application too often: 20 times a second, and 64 times after a pause. Ask when you have
        accepted it. What is refused is counted (`violators_refused` in `EndpointStats.refusals`);
        tell the peer so with `abort`."""
        return self._native.bars_violator()

    # --- the end ---

    def _told(self, lost: AssociationLost) -> AssociationLost:
        """The error, with the messages that were not delivered."""
        lost._told(self.undelivered())
        return lost

    async def _end(self, operation: _native.Operation) -> None:
        try:
            await result(self._hub, operation)
        except AssociationLost as lost:
            raise self._told(lost) from None

    def undelivered(self) -> list[Undelivered]:
        """The messages that the peer has not completely acknowledged, once the association was
        lost: those that have left first, each stream in its order. Empty while it lives and after a
        graceful end. `AssociationLost.unsent` and `unacknowledged` have the same messages."""
        self._hub.check()
        self._undelivered += [Undelivered(**facts) for facts in self._native.undelivered()]
        return list(self._undelivered)

    @property
    def is_closed(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self._native.is_closed()

    async def shutdown(self) -> None:
        """Shuts it down gracefully: what is queued is delivered first, and nothing more can be
        sent. Waits for the end. A peer that answers but does not finish is given up after five
        times RTO.Max. What the peer still sends must be read meanwhile if it is more than the
        receive buffer holds. Raises `AssociationLost`."""
        self._hub.check()
        for writer in list(self._writers):
            await writer.drain()
        await self._end(self._native.shutdown())
        if self._only is not None:
            await self._only.close()

    async def wait_closed(self) -> None:
        """Waits for the end. Raises `AssociationLost` unless it was graceful."""
        self._hub.check()
        await self._end(self._native.wait_closed())

    def abort(self, reason: str | bytes = b"") -> None:
        """Aborts it. What is queued or unacknowledged is lost. The ABORT carries the first 256
        bytes of `reason`. Does nothing if the association has ended."""
        self._native.abort(_reason(reason))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            await self.shutdown()
        else:
            self.abort(kind.__name__)
            if self._only is not None:
                await self._only.abort()

    def __repr__(self) -> str:
        try:
            paths = self.paths()
        except WrongProcess:
            return "<Association of another process>"
        state = "ended" if self.is_closed else f"{len(paths)} paths"
        with_whom = ", ".join(dict.fromkeys(p.remote for p in paths))
        return f"<Association with {with_whom or 'a peer that has gone'}, {state}>"


def _number(what: str, value: SupportsIndex, most: int) -> int:
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"{what} is a number from 0 to {most}, not {value!r}") from None
    if not 0 <= number <= most:
        raise SendRefused(f"{what} {value}: expected a number from 0 to {most}")
    return number


def _path(path: Path | int) -> int:
    return path.id if isinstance(path, Path) else _number("path", path, 255)


def _reason(reason: str | bytes) -> bytes:
    return reason.encode(errors="replace") if isinstance(reason, str) else bytes(reason)
