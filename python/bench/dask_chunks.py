"""Measures what a plan for many workers needs: chunks a second, and bytes of chunks and rows.

    python bench/dask_chunks.py [--chunks 2000] [--workers 2]

Chunks that do nothing are submitted as `byway.sweep` submits its own, with the description of
a sweep and an answer of a given size, and fetched as it fetches them. The time of each is then
the work of the client, the scheduler and the workers. The bytes are those of a sweep's chunk.

The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import zlib
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from cluster import cluster  # noqa: E402
from distributed import Client, as_completed  # noqa: E402

import byway  # noqa: E402
from byway._native import ChunkDealer, ChunkWorker, describe_plan  # noqa: E402
from byway.dask import build  # noqa: E402

SWEEP = {"path.*.loss": ["0 %", "1 %", "3 %"]}


def nothing(packed: bytes, chunk: bytes, size: int) -> bytes:
    return bytes(size)


def sizes(folder: Path) -> dict[str, float]:
    """Bytes of the description, a chunk that is asked for, and a row of its answer."""
    plan = byway.plan(None, axes=SWEEP, seeds=500)
    described = describe_plan(plan, build())
    dealer = ChunkDealer(plan, folder / "x.parquet", build(), False)
    worker = ChunkWorker(described, build())
    asked = b""
    for seconds in (0.1, 4.0):
        chunk = dealer.next(seconds, 1)
        assert chunk is not None
        number, runs, asked = chunk
        begun = time.monotonic()
        answer = worker.run(asked)
        took = time.monotonic() - begun
        begun = time.monotonic()
        dealer.take(number, answer)
        kept = time.monotonic() - begun
    done, _ = dealer.progress()
    dealer.close()
    journal = (folder / "x.parquet.journal").stat().st_size
    return {
        "description": len(zlib.compress(described)),
        "asked": len(asked),
        "answer_of_a_run": round(len(answer) / runs, 1),
        "journal_of_a_run": round(journal / done, 1),
        "milliseconds_of_a_run": round(1000 * took / runs, 2),
        "microseconds_to_keep_a_row": round(1e6 * kept / runs, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="chunks a second of a scheduler of Dask")
    parser.add_argument("--chunks", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="byway-chunks-") as name:
        found = sizes(Path(name))
        print(", ".join(f"{what.replace('_', ' ')}: {value}" for what, value in found.items()))
        with cluster(Path(name) / "cluster", asked.workers) as made:
            with Client(made.address, set_as_default=False) as client:
                client.wait_for_workers(asked.workers, timeout=60)
                assert made.scheduler is not None
                scheduler, own = psutil.Process(made.scheduler.pid), psutil.Process()
                packed, size = bytes(int(found["description"])), 100 * int(found["answer_of_a_run"])
                chunk = bytes(int(found["asked"]))

                def submit(number: int) -> object:
                    return client.submit(
                        nothing, packed, chunk, size, key=f"nothing-{number}", pure=False
                    )

                for future in as_completed([submit(-n) for n in range(1, 50)], loop=client.loop):
                    future.result()
                before = (scheduler.cpu_times(), own.cpu_times())
                begun = time.monotonic()
                waiting = as_completed([submit(n) for n in range(4 * asked.workers)],
                                       with_results=True, loop=client.loop)  # fmt: skip
                sent = 4 * asked.workers
                for batch in waiting.batches():
                    for _ in batch:
                        if sent < asked.chunks:
                            waiting.add(submit(sent))
                            sent += 1
                took = time.monotonic() - begun
                after = (scheduler.cpu_times(), own.cpu_times())
    used = [
        1000 * (a.user + a.system - b.user - b.system) / asked.chunks
        for a, b in zip(after, before, strict=True)
    ]
    print(
        f"{asked.chunks / took:.0f} chunks a second with {asked.workers} workers; of each, the "
        f"scheduler computes {used[0]:.2f} ms and the client {used[1]:.2f} ms"
    )
    print(
        json.dumps(
            {
                "measurement": "dask_chunks",
                "chunks": asked.chunks,
                "workers": asked.workers,
                "chunks_a_second": round(asked.chunks / took, 1),
                "scheduler_ms": round(used[0], 3),
                "client_ms": round(used[1], 3),
                **found,
            }
        )
    )


if __name__ == "__main__":
    main()
