"""Compares `byway sweep` with `byway sweep --dask` on one machine, in turn.

    python bench/dask_speed.py [--pairs 5] [--seeds 300] [--processors 2]

Both commands do the same sweep: one with as many threads, one with as many worker processes
of one thread each. Each pair begins with the other one than the pair before. The results must
be the same, byte for byte. Processor time is that of the command and, with Dask, of its
workers and the scheduler, too: other work on the machine changes it little.

The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from cluster import Cluster, cluster, command  # noqa: E402

SWEEP = """
name = "speed"
scenario = "built-in"
seeds = {seeds}
[[axis]]
key = "path.*.loss"
values = ["0 %", "1 %", "2 %", "3 %", "5 %", "8 %"]
[[axis]]
key = "path.*.delay"
values = ["20 ms", "45 ms"]
"""


def processor_seconds(made: Cluster) -> float:
    """Of the scheduler and the workers, so far."""
    assert made.scheduler is not None
    family = [psutil.Process(p.pid) for p in [made.scheduler, *made.workers]]
    return float(sum(t.user + t.system for t in (p.cpu_times() for p in family)))


def children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(args: list[str]) -> tuple[float, float]:
    """Seconds, and seconds of processors."""
    environment = {**os.environ, "BYWAY_PYTHON": sys.executable}
    before, begun = children_seconds(), time.monotonic()
    subprocess.run(args, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun, children_seconds() - before


def main() -> None:
    parser = argparse.ArgumentParser(description="byway sweep against byway sweep --dask")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--processors", type=int, default=2)
    asked = parser.parse_args()
    ratios, used, rows = [], [], []
    with tempfile.TemporaryDirectory(prefix="byway-speed-") as name:
        folder = Path(name)
        sweep = folder / "speed.toml"
        sweep.write_text(SWEEP.format(seeds=asked.seeds))
        here, there = folder / "here.parquet", folder / "there.parquet"
        base = [command(), "sweep", str(sweep), "--restart", "--json", "--out"]
        with cluster(folder / "cluster", asked.processors) as made:
            time.sleep(5)
            # What is loaded once is loaded before.
            few = folder / "few.toml"
            few.write_text(SWEEP.format(seeds=2))
            first = [command(), "sweep", str(few), "--out", str(folder / "few.parquet")]
            run([*first, "--dask", made.address])
            for pair in range(asked.pairs):
                found: dict[str, tuple[float, float]] = {}
                for which in ("here", "there") if pair % 2 == 0 else ("there", "here"):
                    if which == "here":
                        found[which] = run([*base, str(here), "--threads", str(asked.processors)])
                    else:
                        before = processor_seconds(made)
                        took, own = run([*base, str(there), "--dask", made.address])
                        found[which] = took, own + processor_seconds(made) - before
                assert here.read_bytes() == there.read_bytes(), "the results differ"
                ratios.append(found["there"][0] / found["here"][0])
                used.append(found["there"][1] / found["here"][1])
                rows.append({k: [round(v, 2) for v in pair] for k, pair in found.items()})
                print(
                    f"pair {pair + 1}: here {found['here'][0]:6.1f} s ({found['here'][1]:6.1f} s of "
                    f"processors), Dask {found['there'][0]:6.1f} s ({found['there'][1]:6.1f} s): "
                    f"ratio {ratios[-1]:.3f} ({used[-1]:.3f})",
                    flush=True,
                )
    print(
        f"Dask takes {statistics.median(ratios):.3f} times as long "
        f"({min(ratios):.3f} to {max(ratios):.3f}) and "
        f"{statistics.median(used):.3f} times the processor time "
        f"({min(used):.3f} to {max(used):.3f})"
    )
    print(
        json.dumps(
            {
                "measurement": "dask_speed",
                "processors": asked.processors,
                "seeds": asked.seeds,
                "ratio_median": round(statistics.median(ratios), 4),
                "ratio_least": round(min(ratios), 4),
                "ratio_most": round(max(ratios), 4),
                "processor_ratio_median": round(statistics.median(used), 4),
                "pairs": rows,
            }
        )
    )


if __name__ == "__main__":
    main()
