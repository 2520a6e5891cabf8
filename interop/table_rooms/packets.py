"""What a capture shows: does every packet dissect clean, and who sent what where and when."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from .lab import UDP_PORT, Failed

DATA, INIT, INIT_ACK, SACK, ABORT, SHUTDOWN_COMPLETE, AUTH, ASCONF, ASCONF_ACK = 0, 1, 2, 3, 6, 14, 15, 0xC1, 0x80
HEARTBEAT, HEARTBEAT_ACK = 4, 5
I_DATA = 64
# An ABORT with the T bit, of a host that does not know the association.
ABORT_OF_STRANGER = 0x106

FIELDS = (
    "frame.time_epoch frame.interface_name ip.src ip.dst ipv6.src ipv6.dst sctp.chunk_type "
    "sctp.abort_t_bit sctp.checksum.status udp.port _ws.expert.severity _ws.expert.message"
).split()


@dataclass
class Packet:
    time: float
    path: int
    source: str
    destination: str
    chunks: list[int]
    # UDP ports, source first; none without UDP.
    ports: list[int]

    @property
    def in_udp(self) -> bool:
        return bool(self.ports)


def tshark(capture: Path) -> list[str]:
    return ["tshark", "-n", "-r", str(capture), "-d", f"udp.port=={UDP_PORT},sctp"]


def read(capture: Path, udp: bool | None, hosts: list[str]) -> list[Packet]:
    """All packets between these addresses, in order of time. Fails if any packet does not dissect clean: SCTP in UDP or
    directly over IP, a right CRC32c, nothing malformed, no error. Fails if one of them is in UDP and should not be, or the
    other way round. A switch that knows no port for a card yet sends its packets to all, so that those of other cells may be
    among them. `udp`: None if it may be either."""
    which = f"(udp.port == {UDP_PORT} || ip.proto == 132 || ipv6.nxt == 132)"
    # Payload is random bytes: nothing above SCTP is to be guessed from it.
    words = tshark(capture)
    for option in ("checksum:CRC 32c", "tsn_analysis:FALSE", "reassembly:FALSE", "ulp_dissection:FALSE"):
        words += ["-o", f"sctp.{option}"]
    words += ["-Y", f"{which} && !icmp && !icmpv6", "-T", "fields", "-E", "separator=|"]
    for field in FIELDS:
        words += ["-e", field]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise Failed(f"tshark failed: {done.stderr.strip()[-200:]}")
    packets, bad = [], []
    for line in done.stdout.splitlines():
        time, card, src, dst, src6, dst6, chunks, stranger, checksum, ports, severity, message = line.split("|", 11)
        # Checksum status 1: right. Severity 0x800000: an error.
        clean = checksum == "1" and "8388608" not in severity and "0x00800000" not in severity
        if not clean or "alformed" in message:
            bad.append(line)
            continue
        types = [int(c, 0) for c in chunks.split(",") if c]
        if "1" in stranger or "True" in stranger:
            types = [ABORT_OF_STRANGER if c == ABORT else c for c in types]
        packet = Packet(float(time), int(card[-1]), src or src6, dst or dst6, types, [int(p) for p in ports.split(",") if p])
        if packet.source in hosts and packet.destination in hosts:
            packets.append(packet)
    if bad:
        raise Failed(f"{len(bad)} of {len(bad) + len(packets)} packets do not dissect clean, first: {bad[0][:200]}")
    if not packets:
        raise Failed("no packet was captured")
    if udp is not None and (others := [p for p in packets if p.in_udp != udp]):
        first = others[0]
        raise Failed(
            f"{len(others)} of {len(packets)} packets are {'without' if udp else 'in'} UDP, first: {first.source} to "
            f"{first.destination}, chunks {first.chunks}"
        )
    return sorted(packets, key=lambda p: p.time)


def count(packets: list[Packet], chunk: int) -> int:
    return sum(p.chunks.count(chunk) for p in packets)


def of(packets: list[Packet], sources: list[str]) -> list[Packet]:
    return [p for p in packets if p.source in sources]


def data_of(packets: list[Packet], sources: list[str]) -> list[Packet]:
    return [p for p in of(packets, sources) if DATA in p.chunks]


def heartbeat_answered(packets: list[Packet], sources: list[str], others: list[str]) -> bool:
    """Whether the others answered a heartbeat of these addresses."""
    sent = [p.time for p in of(packets, sources) if HEARTBEAT in p.chunks]
    return any(sent and p.time >= sent[0] for p in of(packets, others) if HEARTBEAT_ACK in p.chunks)


def heartbeats_there(capture: Path, senders: list[str], address: str, grace: float = 0.3) -> tuple[int, int]:
    """How many heartbeats of these addresses to another one were answered from there, with what they said, and how many not.
    One that left less than `grace` seconds before the last packet was not answered yet."""
    words = [*tshark(capture), "-T", "fields", "-E", "separator=|"]
    words += ["-Y", f"sctp.chunk_type == {HEARTBEAT} || sctp.chunk_type == {HEARTBEAT_ACK}"]
    for field in "frame.time_epoch ip.src ipv6.src ip.dst ipv6.dst sctp.chunk_type sctp.parameter_heartbeat_information".split():
        words += ["-e", field]
    asked: dict[tuple[str, str], tuple[float, bool]] = {}
    now = 0.0
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    for at, src, src6, dst, dst6, types, said in sorted((l.split("|") for l in lines), key=lambda l: float(l[0])):
        source, destination, now = src or src6, dst or dst6, float(at)
        kinds = (k for k in (int(t, 0) for t in types.split(",")) if k in (HEARTBEAT, HEARTBEAT_ACK))
        for kind, info in zip(kinds, said.split(",")):
            if kind == HEARTBEAT and source in senders and destination == address:
                asked[source, info] = now, False
            elif kind == HEARTBEAT_ACK and source == address and (destination, info) in asked:
                asked[destination, info] = asked[destination, info][0], True
    answered = sum(done for _, done in asked.values())
    return answered, sum(not done and at <= now - grace for at, done in asked.values())


def not_taken(capture: Path, receiver: list[str], sender: list[str]) -> str | None:
    """What the last SACK of the receiver leaves the sender to wait for: DATA of the capture that it does not acknowledge, or
    room for more. None if it waits for nothing."""
    words = [*tshark(capture), "-o", "sctp.relative_tsns:FALSE", "-T", "fields", "-E", "separator=|"]
    words += ["-Y", f"sctp.chunk_type == {DATA} || sctp.chunk_type == {SACK}"]
    for field in "frame.time_epoch ip.src ipv6.src sctp.data_tsn_raw sctp.sack_cumulative_tsn_ack_raw sctp.sack_a_rwnd".split():
        words += ["-e", field]
    highest, sack = None, None
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    for _, src, src6, tsns, acknowledged, window in sorted((l.split("|") for l in lines), key=lambda l: float(l[0])):
        if (src or src6) in sender:
            for tsn in (int(t) for t in tsns.split(",") if t):
                # Serial numbers (RFC 1982).
                if highest is None or 0 < (tsn - highest) % 2**32 < 2**31:
                    highest = tsn
        elif (src or src6) in receiver and acknowledged:
            sack = int(acknowledged.split(",")[-1]), int(window.split(",")[-1])
    if highest is None:
        return None
    if sack is None:
        return "no SACK"
    if 0 < (highest - sack[0]) % 2**32 < 2**31:
        return f"{(highest - sack[0]) % 2**32} TSNs that the last SACK does not acknowledge"
    return None if sack[1] > 0 else "a last SACK with an a_rwnd of 0"


# --- messages that interleave (RFC 8260)


@dataclass
class Piece:
    """An I-DATA chunk, when it was sent for the first time."""

    tsn: int
    stream: int
    unordered: bool
    mid: int
    begin: bool
    end: bool
    # Its number in its message, which the first one has not: its PPID is there.
    fsn: int | None

    @property
    def message(self) -> tuple[int, bool, int]:
        return self.stream, self.unordered, self.mid


def pieces(capture: Path, sources: list[str]) -> list[Piece]:
    """The I-DATA chunks of these addresses in the order of their TSNs, each once."""
    words = [*tshark(capture), "-o", "sctp.relative_tsns:FALSE", "-Y", f"sctp.chunk_type == {I_DATA}"]
    words += ["-T", "fields", "-E", "separator=|"]
    names = "tsn_raw sid u_bit mid b_bit e_bit fsn".split()
    for field in ("ip.src", "ipv6.src", *(f"sctp.data_{n}" for n in names)):
        words += ["-e", field]
    found: dict[int, Piece] = {}
    first = None
    for line in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines():
        src, src6, *columns = line.split("|")
        if (src or src6) not in sources:
            continue
        lists = [c.split(",") if c else [] for c in columns]
        fsns = iter(lists.pop())
        if len({len(one) for one in lists}) != 1:
            raise Failed(f"I-DATA chunks with unlike fields: {line}")
        for tsn, stream, unordered, mid, begin, end in zip(*lists):
            # Serial numbers (RFC 1982), from half of them before the first one.
            first = int(tsn) if first is None else first
            begins = is_set(begin)
            fsn = None if begins else int(next(fsns), 0)
            place = (int(tsn) - first + 2**31) % 2**32
            found.setdefault(place, Piece(int(tsn), int(stream, 0), is_set(unordered), int(mid, 0), begins, is_set(end), fsn))
    return [found[place] for place in sorted(found)]


def is_set(bit: str) -> bool:
    return bit in ("1", "True")


def misnumbered(all_pieces: list[Piece]) -> list[Piece]:
    """Those that are not numbered from 0 on within their message, the first one by itself (RFC 8260 section 2.1). The pieces of
    a message come in the order of their TSNs."""
    numbers: dict[tuple[int, bool, int], int] = {}
    wrong = []
    for piece in all_pieces:
        number = 0 if piece.begin else numbers.get(piece.message, 0) + 1
        numbers[piece.message] = number
        if not piece.begin and piece.fsn != number:
            wrong.append(piece)
    return wrong


def overtaken(all_pieces: list[Piece], large: int) -> int:
    """How many ordered messages left whole before the end of a message of the stream `large` that their program had handed
    over before. A program hands over a message of each stream in turn (interop/common/exchange.h), so the later one has a
    higher number in its stream."""
    done: list[Piece] = []
    count = 0
    for piece in all_pieces:
        if piece.unordered or not piece.end:
            continue
        if piece.stream != large:
            done.append(piece)
            continue
        count += sum(p.mid > piece.mid for p in done)
        done = [p for p in done if p.mid <= piece.mid]
    return count


# Parameters of an ASCONF (RFC 5061 section 4.2), and addresses within them.
ADD_IP, DELETE_IP, IPV4, IPV6 = 0xC001, 0xC002, 5, 6


@dataclass
class Wildcards:
    """The serial numbers of ASCONF chunks that add, or delete, the wildcard address."""

    added: set[int]
    deleted: set[int]

    def __str__(self) -> str:
        return f"{len(self.added)} ASCONF that add and {len(self.deleted)} that delete the wildcard address"


def wildcards(capture: Path, sources: list[str]) -> Wildcards:
    """Those that these addresses sent; one that was sent again counts once. An ASCONF begins with an address of its sender,
    which changes nothing (section 4.1.1) and may be the wildcard, too."""
    fields = "ip.src ipv6.src sctp.asconf_seq_nr_number sctp.parameter_type sctp.parameter_ipv4_address sctp.parameter_ipv6_address"
    words = [*tshark(capture), "-Y", f"sctp.chunk_type == {ASCONF}", "-T", "fields", "-E", "separator=|"]
    for field in fields.split():
        words += ["-e", field]
    found = Wildcards(set(), set())
    for line in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines():
        src, src6, serials, types, *lists = line.split("|")
        if (src or src6) not in sources:
            continue
        # No side sends a second one before the first was answered.
        if "," in serials:
            raise Failed(f"two ASCONF in one packet, {serials}")
        addresses = {IPV4: iter(lists[0].split(",")), IPV6: iter(lists[1].split(","))}
        inside = 0
        for kind in (int(t, 0) for t in types.split(",")):
            if kind not in addresses:
                inside = kind
                continue
            if next(addresses[kind]) in ("0.0.0.0", "::"):
                {ADD_IP: found.added, DELETE_IP: found.deleted}.get(inside, set()).add(int(serials, 0))
            inside = 0
    return found


def key_identifiers(capture: Path, *sides: list[str]) -> tuple[set[int], ...]:
    """The shared key identifiers in the AUTH chunks of each side."""
    words = [*tshark(capture), "-Y", "sctp.shared_key_id", "-T", "fields", "-E", "separator=|"]
    for field in ("ip.src", "ipv6.src", "sctp.shared_key_id"):
        words += ["-e", field]
    lines = [l.split("|") for l in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()]
    return tuple({int(i) for src, src6, ids in lines if (src or src6) in side for i in ids.split(",")} for side in sides)
