#!/usr/bin/env python3
"""What a capture at a host shows of the peers' new addresses and ports.

    sources.py answers|nonces CAPTURE OWN[,OWN] [DROPPED]

`answers`: each heartbeat that came in is answered, from the address that it came to and to the address and UDP port that it
came from, and nowhere else. `nonces`: where no COOKIE ECHO came from, only heartbeats and answers to heartbeats go, until the
answer to such a heartbeat came from there, with what the heartbeat carried; and data went to such a place afterwards.
With BLIND=1 the answers that came in are not seen, so that `nonces` must fail.

Prints what was seen; status 1 if it is not so. The last second of the capture may lack answers.
The capture is behind the host's queues: an answer that was dropped there is not in it, as one that was never given. So as
many answers as these DROPPED (0) may be missing, each where others were given between the same two places."""

import os
import subprocess
import sys
from typing import NamedTuple

DATA, HEARTBEAT, HEARTBEAT_ACK, COOKIE_ECHO, AUTH = 0, 4, 5, 10, 15
FIELDS = (
    "frame.time_epoch ip.src ip.dst udp.srcport udp.dstport sctp.chunk_type sctp.parameter_heartbeat_information "
    "sctp.verification_tag sctp.initiate_tag"
).split()


class Packet(NamedTuple):
    time: float
    source: tuple[str, str]
    destination: tuple[str, str]
    chunks: list[int]
    infos: list[str]
    """Of its heartbeats and answers, in their order."""
    tag: str


def read(capture: str) -> list[Packet]:
    words = ["tshark", "-n", "-r", capture, "-d", "udp.port==9899,sctp", "-Y", "sctp && !icmp", "-T", "fields", "-E", "separator=|"]
    for field in FIELDS:
        words += ["-e", field]
    packets = []
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"tshark ended with status {done.returncode} on the capture: {' '.join(done.stderr.split())}")
    for line in done.stdout.splitlines():
        time, src, dst, sport, dport, chunks, infos, tag, _ = line.split("|")
        types = [int(c, 0) for c in chunks.split(",") if c]
        packets.append(Packet(float(time), (src, sport), (dst, dport), types, [i for i in infos.split(",") if i], tag))
    return sorted(packets, key=lambda p: p.time)


def answers(packets: list[Packet], own: set[str], dropped: int) -> str:
    last = packets[-1].time
    missing = 0
    asked = [(p, i) for p in packets if p.destination[0] in own and HEARTBEAT in p.chunks for i in p.infos]
    places = set()
    for heartbeat, info in asked:
        given = [p for p in packets if p.source[0] in own and HEARTBEAT_ACK in p.chunks and info in p.infos]
        for p in given:
            if (p.source, p.destination) != (heartbeat.destination, heartbeat.source):
                sys.exit(f"a heartbeat {heartbeat.source} to {heartbeat.destination} was answered {p.source} to {p.destination}")
        if not given and heartbeat.time < last - 1:
            pair = (heartbeat.source, heartbeat.destination)
            others = sum(i in q.infos for p, i in asked if (p.source, p.destination) == pair for q in packets if HEARTBEAT_ACK in q.chunks)
            missing += 1
            if others and missing <= dropped:
                continue
            sys.exit(
                f"a heartbeat {heartbeat.source} to {heartbeat.destination} was not answered, {heartbeat.time - packets[0].time:.3f} s after "
                f"the first packet and {last - heartbeat.time:.3f} s before the last; {others} other answers between these two"
            )
        places.add((heartbeat.source, heartbeat.destination))
    if not asked:
        sys.exit("no heartbeat came in")
    lost = f", but {missing}, with {dropped} packets dropped by queues" if missing else ""
    return f"{len(asked)} heartbeats between {len(places)} pairs answered as they came{lost}"


def nonces(packets: list[Packet], own: set[str]) -> str:
    asked: dict[tuple[str, str], set[str]] = {}
    proved: set[tuple[str, str]] = set()
    by_nonce: set[tuple[str, str]] = set()
    by_cookie: set[tuple[str, str]] = set()
    carried: set[tuple[str, str]] = set()
    given: set[tuple[str, str]] = set()
    # The handshake goes to where the INIT came from; an association begins with the COOKIE ECHO.
    blind = os.environ.get("BLIND")
    begun = min((p.time for p in packets if COOKIE_ECHO in p.chunks), default=None)
    if begun is None:
        sys.exit("no COOKIE ECHO was captured")
    for p in packets:
        if p.time < begun:
            continue
        if p.destination[0] in own:
            if COOKIE_ECHO in p.chunks:
                proved.add(p.source)
                by_cookie.add(p.source)
            if HEARTBEAT_ACK in p.chunks and not blind and asked.get(p.source, set()) & set(p.infos):
                if p.source not in proved:
                    by_nonce.add(p.source)
                proved.add(p.source)
            continue
        there = p.destination
        if HEARTBEAT in p.chunks:
            asked.setdefault(there, set()).update(p.infos)
        if there not in proved and set(p.chunks) - {HEARTBEAT, HEARTBEAT_ACK, AUTH}:
            sys.exit(f"chunks {p.chunks} went to {there} before an answer with a heartbeat's nonce came from there")
        if DATA in p.chunks:
            given.add(there)
            if there in by_nonce:
                carried.add(there)
    if not carried:
        sys.exit(
            f"no data went to a new address or port, but to {sorted(given)}; a COOKIE ECHO came from {sorted(by_cookie)}, a nonce from {sorted(by_nonce)}"
        )
    return f"data to {len(carried)} new addresses or ports, to each after the answer with the nonce"


def captured(packets: list[Packet], own: set[str]) -> str:
    """How many, each way, so that a capture which is not whole shows."""
    came = sum(p.destination[0] in own for p in packets)
    span = packets[-1].time - packets[0].time if packets else 0
    return f"{came} packets came in and {len(packets) - came} went out in {span:.1f} s"


def main() -> None:
    what, capture, addresses, dropped = [*sys.argv[1:], "0"][:4]
    own = set(addresses.split(","))
    packets = read(capture)
    if not packets:
        sys.exit("the capture is empty")
    try:
        checks = {"answers": lambda: answers(packets, own, int(dropped)), "nonces": lambda: nonces(packets, own)}
        print(checks[what]())
    except SystemExit as problem:
        sys.exit(f"{problem}; {captured(packets, own)}")


if __name__ == "__main__":
    main()
