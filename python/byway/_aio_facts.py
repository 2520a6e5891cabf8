"""What `byway.aio` tells about paths and associations: states, counters and events."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, get_args


class PathState(enum.StrEnum):
    """The state of a path."""

    UNCONFIRMED = "unconfirmed"
    """The address has not answered a heartbeat yet; no data goes there (RFC 9260 section 5.4)."""
    ACTIVE = "active"
    """The path works."""
    POTENTIALLY_FAILED = "potentially failed"
    """It may have failed: heartbeats probe it, data goes elsewhere (RFC 7829)."""
    INACTIVE = "inactive"
    """It has failed, until a heartbeat is answered (RFC 9260 section 8.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathEstimate:
    """The estimate of a path's round trip and losses (`failover.estimate`)."""

    rtt_s: float
    """Seconds: the least round trip of the last 10 to 20 s that were measured."""
    loss: float
    """The share of packets lost in one direction, 0 to 1."""
    samples: float
    """The number of passages that it uses; older ones count less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A path of an association, with its counters since the association began."""

    id: int
    """Its number, from 0."""
    local: str
    """Local address with its UDP port."""
    remote: str
    """The peer's address with its UDP port."""
    state: PathState
    """State."""
    primary: bool
    """Whether it is the primary path."""
    in_use: bool
    """Whether new data goes there."""
    backup: bool
    """Whether it is a backup (`Association.set_backup`)."""
    srtt_s: float | None
    """Smoothed round-trip time, seconds; `None` before the first sample."""
    rto_s: float
    """Retransmission timeout, seconds."""
    cwnd: int
    """Congestion window, bytes."""
    ssthresh: int
    """Slow start threshold, bytes."""
    flight: int
    """Bytes in flight."""
    pmtu: int
    """Largest packet, bytes, IP and UDP headers included."""
    largest_pmtu: int
    """The largest packet that is tried, bytes: `pmtu` of the settings, or the MTU of the interface."""
    error_count: int
    """Errors since the path last answered."""
    trouble: str | None
    """Why it is in doubt, for programs: the last sign that it may not work. `"t3_rtx"`, `"overdue"`,
    `"heartbeat_lost"`, `"control_unanswered"`, `"unreachable"`, `"dead_for_data"` or `"detected"`;
    `None` while it is active without an error."""
    timeouts: int
    """Expirations of T3-rtx."""
    failures: int
    """Times that it stopped being active: it became potentially failed or inactive."""
    dead_for_data: bool
    """Whether it answers heartbeats but acknowledges no data (`failure.dead_data`)."""
    packets_sent: int
    """Packets sent."""
    bytes_sent: int
    """SCTP bytes sent, headers included."""
    bytes_received: int
    """SCTP bytes received, headers included."""
    data_bytes_sent: int
    """Payload bytes sent for the first time."""
    data_bytes_retransmitted: int
    """Payload bytes sent again."""
    data_bytes_lost: int
    """Payload bytes that counted as lost. Some arrive all the same."""
    probes_sent: int
    """Heartbeats sent for the estimate."""
    probe_bytes: int
    """SCTP bytes of these, headers included."""
    estimate: PathEstimate | None
    """`None` without `failover.estimate`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationStats:
    """Counters of an association since it began."""

    packets_sent: int
    """Packets sent."""
    packets_received: int
    """Packets received and accepted."""
    data_chunks_sent: int
    """DATA chunks sent for the first time."""
    data_chunks_retransmitted: int
    """DATA chunks sent again."""
    fast_retransmits: int
    """DATA chunks that were lost by missing reports."""
    timeouts: int
    """Expirations of T3-rtx."""
    bytes_queued: int
    """Payload bytes that `send` took."""
    bytes_acked: int
    """Payload bytes acknowledged by the peer."""
    bytes_delivered: int
    """Payload bytes received and read. A reader may hold up to 256 KiB of them."""
    messages_delivered: int
    """Messages received and read."""
    duplicates_received: int
    """DATA chunks that had arrived before."""
    sacks_sent: int
    """SACKs sent."""
    sacks_received: int
    """SACKs received."""
    failovers: int
    """Times that new data moved to another destination."""
    failovers_away: int
    """Times that new data left a failed or potentially failed path for an active one."""
    spurious_failovers: int
    """How many of these were recognised as needless."""
    reductions_undone: int
    """Reductions of a window that were undone, because nothing was lost."""
    trials: int
    """Times that another path was tried because the one in use kept losing packets."""
    trials_won: int
    """How many of these paths kept the data."""
    suspicions: int
    """Times that the probe timeout made a path potentially failed."""
    needless_suspicions: int
    """How many of these were needless."""
    data_packet_bytes: int
    """SCTP bytes of packets with DATA; counted only with `failover.estimate`."""
    probes_sent: int
    """Heartbeats sent for estimates of paths."""
    probes_answered: int
    """How many of these were answered."""
    probe_bytes: int
    """SCTP bytes of these, headers included."""
    moved_by_estimate: int
    """Times that a better estimate changed the primary path."""
    dead_for_data: int
    """Times that a path became inactive because it acknowledged no data."""
    rwnd_blocked_s: float
    """Seconds that data waited for the peer's window while a path had room."""
    rwnd_blocked_episodes: int
    """Number of such periods that have ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointStats:
    """Counters of an endpoint since it was bound."""

    datagrams_received: int
    """Datagrams received."""
    buffers_received: int
    """Buffers received; the kernel may put several datagrams into one."""
    datagrams_sent: int
    """Datagrams passed to the kernel."""
    batches_sent: int
    """Calls that passed them."""
    datagrams_refused: int
    """Datagrams that the kernel refused."""
    datagrams_overflowed: int
    """Datagrams dropped because too many waited for their socket."""
    datagrams_handed_over: int
    """Datagrams that came to a socket of another worker than the one that has their association, and
    were handed over (`workers` of `bind`)."""
    malformed: int
    """Packets that are not well formed."""
    bad_checksums: int
    """Packets with a wrong checksum."""
    out_of_the_blue: int
    """Packets of no association (RFC 9260 section 8.4)."""
    inits: int
    """INITs answered."""
    forged_cookies: int
    """Cookies that are not from this endpoint, or were changed."""
    stale_cookies: int
    """Cookies that had expired."""
    refused: int
    """Associations refused because a limit was reached."""
    refused_of_peer: int
    """Of these, because one peer address had set up as many as it may."""
    refused_for_memory: int
    """Of these, because memory was scarce (three quarters of max_memory; fifteen sixteenths for a host with fewer than eight)."""
    answers_withheld: int
    """Answers not given, because their source or all sources had used up their rate."""
    answers_dropped: int
    """Replies dropped because too many were waiting."""
    heartbeats_put_off: int
    """Heartbeats to addresses that have proved nothing which had to wait, or were left out, by the limits against floods."""
    data_shed: int
    """DATA chunks dropped because memory was scarce (seven eighths of max_memory); their senders send them again."""
    shed: int
    """Associations aborted, because memory was scarce (fifteen sixteenths of max_memory)."""
    refusals: dict[str, int]
    """Everything that was refused, dropped or shed, by the name of the rule: those above, and what
    peers with an association sent that was not taken."""
    dropped_by_kernel: int | None
    """Datagrams that the kernel dropped, because nobody had read their socket for too long. `None`
    where the kernel does not tell."""


@dataclass(frozen=True, slots=True)
class Up:
    """The association is established."""

    accepted: bool
    """Whether the peer started it."""
    outbound_streams: int
    """Streams that this side may send on."""
    inbound_streams: int
    """Streams that the peer may send on."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The association has ended without a graceful shutdown."""

    reason: str
    """Why, in words."""
    cause: str
    """Why, for programs; see `AssociationLost.cause`."""
    undelivered_messages: int
    """Messages that the peer has not completely acknowledged."""


@dataclass(frozen=True, slots=True)
class Undelivered:
    """A message that a lost association could not deliver (RFC 9260 section 11.2.2)."""

    data: bytes
    """The bytes behind those that the peer has acknowledged."""
    acknowledged: int
    """How many bytes at its front the peer has acknowledged."""
    sent: bool
    """Whether a part of it has left. If so, the peer may have all of it; if not, it has none."""
    stream: int
    """Its stream."""
    ssn: int
    """Stream sequence number; 0 for unordered messages."""
    ppid: int
    """Payload protocol identifier."""
    unordered: bool
    """Whether it was sent unordered."""
    context: int
    """The `context` that it was sent with."""


@dataclass(frozen=True, slots=True)
class Restarted:
    """The peer restarted with the same addresses (RFC 9260 section 5.2)."""

    undelivered_messages: int
    """Messages that the peer had not completely acknowledged; they are lost."""


@dataclass(frozen=True, slots=True)
class PeerShutdown:
    """The peer asked for a graceful shutdown: nothing more can be sent."""


@dataclass(frozen=True, slots=True)
class ShutdownComplete:
    """The association has ended gracefully. What has arrived can still be read."""


@dataclass(frozen=True, slots=True)
class PathAdded:
    """A path appeared."""

    path: int
    """Its number."""
    remote: str
    """The peer's address."""
    state: PathState
    """Its state."""


@dataclass(frozen=True, slots=True)
class PathMoved:
    """The peer's UDP port of a path changed, because a translator (NAT) moved it."""

    path: int
    """Its number."""
    remote: str
    """The peer's address with its new port."""


@dataclass(frozen=True, slots=True)
class PathRemoved:
    """A path is gone: the peer deleted its address (RFC 5061), or none of this host's addresses
    reaches it any more. A later path may have its number."""

    path: int
    """Its number."""
    remote: str
    """The peer's address."""


@dataclass(frozen=True, slots=True)
class AddressChanged:
    """The peer accepted a change of this side's addresses (RFC 5061)."""

    what: str
    """The change, in words."""


@dataclass(frozen=True, slots=True)
class AddressChangeRefused:
    """The peer refused a change of this side's addresses."""

    what: str
    """The change, in words."""
    cause: int
    """The code of the peer's error cause (RFC 5061 section 4.3)."""


@dataclass(frozen=True, slots=True)
class PathChanged:
    """A path changed its state."""

    path: int
    """Its number."""
    remote: str
    """The peer's address."""
    old: PathState
    """State before."""
    new: PathState
    """State now."""


@dataclass(frozen=True, slots=True)
class PathDeadForData:
    """A path answers heartbeats but does not acknowledge its data."""

    path: int
    """Its number."""
    remote: str
    """The peer's address."""


@dataclass(frozen=True, slots=True)
class DataPathChanged:
    """New data now goes to another path: a failover, or a return from one."""

    old: int
    """Path before."""
    new: int
    """Path now."""


@dataclass(frozen=True, slots=True)
class PrimaryChanged:
    """The primary path changed, by command or by a permanent failover."""

    old: int
    """Path before."""
    new: int
    """Path now."""


@dataclass(frozen=True, slots=True)
class PartsGivenUp:
    """The peer has given up a message of which parts were delivered (RFC 8260 section 2.3.1): no more
    parts of it will come, and none has `last` set."""

    stream: int
    """Its stream."""
    unordered: bool
    """Whether it was sent unordered."""


@dataclass(frozen=True, slots=True)
class PeerError:
    """The peer reported an error (RFC 9260 section 11.2.6)."""

    cause: str
    """Its causes."""


@dataclass(frozen=True, slots=True)
class Other:
    """An event of a newer byway."""

    text: str
    """What it is."""


Event: TypeAlias = (
    Up
    | Lost
    | Restarted
    | PeerShutdown
    | ShutdownComplete
    | PathAdded
    | PathMoved
    | PathRemoved
    | AddressChanged
    | AddressChangeRefused
    | PathChanged
    | PathDeadForData
    | DataPathChanged
    | PrimaryChanged
    | PartsGivenUp
    | PeerError
    | Other
)
"""What happened to an association."""


def event(name: str, fields: dict[str, Any]) -> Event:
    """An event from its name and its fields."""
    for key in ("state", "old", "new"):
        if isinstance(fields.get(key), str):
            fields[key] = PathState(fields[key])
    kinds: dict[str, Callable[..., Event]] = {kind.__name__: kind for kind in get_args(Event)}
    return kinds[name](**fields)


def path_facts(facts: dict[str, Any]) -> Path:
    """A path from its fields."""
    facts["state"] = PathState(facts["state"])
    if facts["estimate"] is not None:
        facts["estimate"] = PathEstimate(**facts["estimate"])
    return Path(**facts)
