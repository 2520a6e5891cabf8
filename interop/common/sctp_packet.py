"""An SCTP packet of a stranger, with a right checksum."""

import struct


def crc32c(data: bytes) -> int:
    """The checksum of SCTP (RFC 9260 appendix A), bit by bit: it is computed a few times."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def packet(source: int, destination: int, tag: int, chunks: bytes) -> bytes:
    """From this SCTP port to this one."""
    head = struct.pack("!HHI", source, destination, tag)
    return head + struct.pack("<I", crc32c(head + bytes(4) + chunks)) + chunks
