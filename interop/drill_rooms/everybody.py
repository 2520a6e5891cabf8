#!/usr/bin/env python3
"""Who answers an INIT that is sent to each of these addresses?

    everybody.py udp|raw PORT ADDRESS...
    everybody.py answer PORT

`PORT` is the SCTP port; over UDP the packets go to port 9899. IPv6 addresses of a link have their card (`ff02::1%e0`). Prints a line
for each address: how many packets came back within half a second, from whichever host. `answer` is a host that answers each
packet without UDP, to whichever address it came."""

import ipaddress
import os
import select
import socket
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "common"))

from sctp_packet import packet  # noqa: E402

SCTP = 132


def init(source: int, destination: int) -> bytes:
    tag = int.from_bytes(os.urandom(4), "big") or 1
    chunk = struct.pack("!BBHIIHHI", 1, 0, 20, tag, 65536, 1, 1, 1)
    return packet(source, destination, 0, chunk)


def answers(way: str, port: int, address: str) -> int:
    bare, _, card = address.partition("%")
    family = socket.AF_INET6 if ipaddress.ip_address(bare).version == 6 else socket.AF_INET
    kind, protocol = (socket.SOCK_RAW, SCTP) if way == "raw" else (socket.SOCK_DGRAM, 0)
    own = 20000 + os.getpid() % 20000
    with socket.socket(family, kind, protocol) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        if way == "udp":
            sock.bind(("", 0))
        to = (bare, 9899 if way == "udp" else 0)
        if family == socket.AF_INET6:
            to += (0, socket.if_nametoindex(card) if card else 0)
        elif card:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, card.encode())
        sock.sendto(init(own, port), to)
        count, end = 0, time.monotonic() + 0.5
        while select.select([sock], [], [], max(0.0, end - time.monotonic()))[0]:
            came = sock.recv(2000)
            if way == "raw" and family == socket.AF_INET:
                came = came[4 * (came[0] & 15) :]
            # Its own packet comes back where it is of the group, too.
            count += struct.unpack_from("!H", came, 2) == (own,)
    return count


def answer(port: int) -> None:
    """With an ABORT, over the addresses that the routes say."""
    both = [socket.socket(family, socket.SOCK_RAW, SCTP) for family in (socket.AF_INET, socket.AF_INET6)]
    while True:
        for sock in select.select(both, [], [])[0]:
            came, source = sock.recvfrom(2000)
            if sock is both[0]:
                came = came[4 * (came[0] & 15) :]
            peer, own = struct.unpack_from("!HH", came)
            if own == port:
                sock.sendto(packet(own, peer, 1, struct.pack("!BBH", 6, 0, 4)), source)


if __name__ == "__main__":
    if sys.argv[1] == "answer":
        answer(int(sys.argv[2]))
    for each in sys.argv[3:]:
        print(each, answers(sys.argv[1], int(sys.argv[2]), each))
