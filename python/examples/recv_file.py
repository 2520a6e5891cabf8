"""Receives one file from send_file.py.

python recv_file.py got.bin --bind 127.0.0.1 127.0.0.2
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import sys
from pathlib import Path

import byway
from byway import aio

BLOCK = 256 << 10


async def receive(file: Path, local: list[str], port: int) -> None:
    async with await aio.bind(local, port=port) as endpoint:
        print(f"listening on {', '.join(endpoint.addresses)}, SCTP port {port}", flush=True)
        association = await endpoint.accept()
        reader, writer = association.open_stream(0)
        header = json.loads(await reader.readline())
        left, digest = int(header["size"]), hashlib.sha256()
        with file.open("wb") as sink:
            while left > 0:
                block = await reader.read(min(left, BLOCK))
                if not block:
                    raise SystemExit(f"the sender stopped {left} bytes before the end")
                left -= len(block)
                digest.update(block)
                sink.write(block)
        sent = (await reader.readline()).decode().strip()
        right = sent == digest.hexdigest()
        writer.write(b"ok\n" if right else b"the checksum is wrong\n")
        await writer.drain()
        # The sender shuts the association down once it has the answer.
        await association.wait_closed()
    if not right:
        raise SystemExit("the checksum is wrong")
    print(f"received {header['size']} bytes of {header['name']}, sha256 {digest.hexdigest()}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Receives one file from send_file.py.")
    parser.add_argument("file", type=Path, help="where to write it")
    parser.add_argument("--bind", nargs="+", required=True, metavar="ADDRESS")
    parser.add_argument("--port", type=int, default=5001, help="SCTP port (5001)")
    args = parser.parse_args()
    try:
        asyncio.run(receive(args.file, args.bind, args.port))
    except (byway.Error, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
