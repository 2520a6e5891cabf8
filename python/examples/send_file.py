"""Sends a file to recv_file.py, over all paths that there are.

python recv_file.py got.bin --bind 127.0.0.1 127.0.0.2
python send_file.py FILE --to 127.0.0.1 127.0.0.2 --from 127.0.0.1 127.0.0.2
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


async def watch(association: aio.Association) -> None:
    """Prints what happens to the paths."""
    async for event in association.events():
        match event:
            case aio.PathChanged(path, remote, old, new):
                print(f"event: path {path} ({remote}) is {new}, was {old}", flush=True)
            case aio.DataPathChanged(old, new):
                print(f"event: failover, data goes to path {new} instead of {old}", flush=True)


async def progress(association: aio.Association, size: int) -> None:
    """Prints every second how much has been acknowledged."""
    while True:
        await asyncio.sleep(1)
        acked = association.stats().bytes_acked
        used = next((p.remote for p in association.paths() if p.in_use), "none")
        print(f"{acked / 1e6:.1f} of {size / 1e6:.1f} MB acknowledged, path {used}", flush=True)


async def send(file: Path, to: list[str], port: int, local: list[str] | None) -> None:
    size = file.stat().st_size
    digest = hashlib.sha256()
    async with asyncio.timeout(10):
        association = await aio.connect(to, port=port, local=local)
    async with association, asyncio.TaskGroup() as tasks:
        helpers = [
            tasks.create_task(watch(association)),
            tasks.create_task(progress(association, size)),
        ]
        reader, writer = association.open_stream(0)
        writer.write(json.dumps({"name": file.name, "size": size}).encode() + b"\n")
        with file.open("rb") as source:
            while block := source.read(BLOCK):
                digest.update(block)
                writer.write(block)
                await writer.drain()
        writer.write(digest.hexdigest().encode() + b"\n")
        await writer.drain()
        # The receiver answers when the file is whole and on its disk.
        answer = (await reader.readline()).decode().strip()
        for helper in helpers:
            helper.cancel()
        if answer != "ok":
            raise SystemExit(f"the receiver says: {answer or 'nothing'}")
        stats = association.stats()
    print(f"sent {size} bytes, sha256 {digest.hexdigest()}, {stats.failovers_away} failovers")


def main() -> None:
    parser = argparse.ArgumentParser(description="Sends a file to recv_file.py.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--to", nargs="+", required=True, metavar="ADDRESS")
    parser.add_argument("--from", nargs="+", dest="local", metavar="ADDRESS")
    parser.add_argument("--port", type=int, default=5001, help="SCTP port (5001)")
    args = parser.parse_args()
    try:
        asyncio.run(send(args.file, args.to, args.port, args.local))
    except* (byway.Error, OSError) as errors:
        sys.exit("\n".join(str(e) for e in errors.exceptions))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
