"""A stranger's flood: python3 flood.py KIND SECONDS ADDRESS PORT SEED. It says how many
datagrams it sent."""

import random
import socket
import struct
import sys
import time


def crc32c(data: bytes) -> int:
    """The checksum of SCTP (RFC 9260 appendix A), bit by bit: it is computed a few times."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def packet(source: int, tag: int, chunks: bytes) -> bytes:
    """A packet to SCTP port 5001 with a right checksum."""
    head = struct.pack(">HHI", source, 5001, tag)
    return head + struct.pack("<I", crc32c(head + bytes(4) + chunks)) + chunks


def packets(kind: str, draw: random.Random) -> list[bytes]:
    """A few hundred different ones."""
    made = []
    for _ in range(300):
        source, tag = draw.randrange(1, 65536), draw.randrange(1, 1 << 32)
        if kind == "init":
            init = struct.pack(">BBHIIHHI", 1, 0, 20, tag, 65536, 10, 10, tag)
            made.append(packet(source, 0, init))
        elif kind == "blue":
            data = struct.pack(">BBHIHHI", 0, 3, 20, tag, 0, 0, 0) + b"blue"
            made.append(packet(source, tag, data))
        else:
            made.append(draw.randbytes(draw.randrange(1, 1400)))
    return made


def main() -> None:
    kind, seconds, address, port, seed = sys.argv[1:6]
    made = packets(kind, random.Random(seed))
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.connect((address, int(port)))
    end, sent = time.monotonic() + float(seconds), 0
    while time.monotonic() < end:
        for datagram in made:
            try:
                out.send(datagram)
                sent += 1
            except OSError:
                pass  # nobody listens at this moment, or the queue is full
    print(sent)


if __name__ == "__main__":
    main()
