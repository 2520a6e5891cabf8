"""A stranger's flood: python3 flood.py KIND SECONDS ADDRESS PORT SEED. It says how many
datagrams it sent."""

import random
import socket
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "common"))

from sctp_packet import packet  # noqa: E402


def packets(kind: str, draw: random.Random) -> list[bytes]:
    """A few hundred different ones."""
    made = []
    for _ in range(300):
        source, tag = draw.randrange(1, 65536), draw.randrange(1, 1 << 32)
        if kind == "init":
            init = struct.pack(">BBHIIHHI", 1, 0, 20, tag, 65536, 10, 10, tag)
            made.append(packet(source, 5001, 0, init))
        elif kind == "blue":
            data = struct.pack(">BBHIHHI", 0, 3, 20, tag, 0, 0, 0) + b"blue"
            made.append(packet(source, 5001, tag, data))
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
