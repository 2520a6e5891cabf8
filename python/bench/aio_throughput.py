"""Throughput of byway.aio: two processes over loopback, messages of 16 KiB.

    python bench/aio_throughput.py [--megabytes N] [--size BYTES] [--runs N] [--command BYWAY]

The last line is JSON: the median of the runs in Mbit/s of payload, each run, and what the
sending and the receiving process used of a processor. With `--command`, `byway cat` sends the
same bytes to `byway listen` after each run; that time includes the start of `byway cat`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time

from byway import aio

PORT = 5001


async def receive() -> None:
    """Receives one association; says its address first and its count last."""
    async with await aio.bind("127.0.0.1:0", port=PORT) as endpoint:
        print(endpoint.addresses[0], flush=True)
        association = await endpoint.accept()
        count, began = 0, None
        try:
            while True:
                message = await association.recv()
                began = began or time.perf_counter()
                count += len(message)
        except aio.AssociationClosed:
            pass
        took = time.perf_counter() - (began or 0)
        print(json.dumps({"bytes": count, "s": took, "cpu_s": time.process_time()}), flush=True)


async def send(address: str, size: int, count: int) -> None:
    """Sends `count` messages."""
    async with await aio.connect(address, port=PORT) as association:
        data = bytes(size)
        for _ in range(count):
            await association.send(data)


def run(size: int, count: int) -> dict[str, float]:
    """One run: rate and processor time."""
    command = [sys.executable, __file__, "--receive"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        address = receiver.stdout.readline().strip()
        before = time.process_time()
        asyncio.run(send(address, size, count))
        cpu = time.process_time() - before
        got = json.loads(receiver.stdout.readline())
    assert got["bytes"] == size * count, got
    return {
        "mbit_s": got["bytes"] * 8 / got["s"] / 1e6,
        "sender_cpu": cpu / got["s"],
        "receiver_cpu": got["cpu_s"] / got["s"],
    }


def run_command(command: str, file: str, megabytes: int) -> float:
    """Mbit/s of `byway cat` to `byway listen`."""
    listen = [command, "listen", "--unprotected", "--bind", "127.0.0.1:19899"]
    with subprocess.Popen(
        listen, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as listener:
        assert listener.stderr is not None
        assert "listening" in listener.stderr.readline()
        began = time.perf_counter()
        subprocess.run([command, "cat", file, "--to", "127.0.0.1:19899", "--quiet"], check=True)
        return megabytes * 8 / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--size", type=int, default=16 << 10, help="bytes of a message")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--command", metavar="BYWAY", help="compare with this command")
    parser.add_argument("--receive", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.receive:
        asyncio.run(receive())
        return
    runs, command = [], []
    with tempfile.NamedTemporaryFile() as file:
        file.truncate(args.megabytes * 1_000_000)
        for _ in range(args.runs):
            runs.append(run(args.size, args.megabytes * 1_000_000 // args.size))
            print(f"{runs[-1]['mbit_s']:.0f} Mbit/s", flush=True)
            if args.command:
                command.append(run_command(args.command, file.name, args.megabytes))
                print(f"{command[-1]:.0f} Mbit/s of the command", flush=True)
    result: dict[str, object] = {
        "schema": "byway.aio-throughput/1",
        "message_bytes": args.size,
        "megabytes": args.megabytes,
        "mbit_s": round(statistics.median(r["mbit_s"] for r in runs)),
        "runs_mbit_s": [round(r["mbit_s"]) for r in runs],
        "sender_cpu": round(statistics.median(r["sender_cpu"] for r in runs), 2),
        "receiver_cpu": round(statistics.median(r["receiver_cpu"] for r in runs), 2),
    }
    if command:
        result["command_mbit_s"] = round(statistics.median(command))
        result["command_runs_mbit_s"] = [round(c) for c in command]
    print(json.dumps(result))


if __name__ == "__main__":
    main()
