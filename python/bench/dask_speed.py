"""Compares `byway sweep` with `byway sweep --dask` on one machine, in turn.

    python bench/dask_speed.py [--pairs 5] [--seeds 360] [--cold 1] [--processors 2]
                               [--dask-defaults] [--ahead]

Both commands do the same sweep: one with as many threads, one with as many worker processes
of one thread each. Each pair begins with the other one than the pair before. The results must
be the same, byte for byte. 360 seeds take about a minute on two processors: shorter sweeps
need no cluster, and show its start more than its speed.

The cluster runs already, as a cluster does, with the settings that docs/cluster.md recommends;
`--dask-defaults` takes those of Dask. `--cold` adds runs that start a cluster of their own:
scheduler, workers, sweep, and nothing ready before.

Processor time is that of the command and, with Dask, of its workers and the scheduler, too:
other work on the machine changes it less than the time by the clock. `--ahead` gives all
processes of the measurement precedence over that other work (Linux, root): use it where
nobody is harmed.

An interval is that of the mean of the logarithms of the ratios (Student's t, 95 %). The last
line is JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
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
RECOMMENDED = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "500ms",
}
"""What docs/cluster.md recommends for the scheduler and the workers."""
IDLE_SECONDS = 10
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Quantiles of Student's t that hold 95 %, for 1 to 9 degrees of freedom."""


@dataclass(frozen=True)
class Ratio:
    """A ratio and the interval that holds it with a confidence of 95 %."""

    value: float
    low: float
    high: float

    @staticmethod
    def of(ratios: Sequence[float]) -> Ratio:
        logs = [math.log(ratio) for ratio in ratios]
        mean = statistics.mean(logs)
        if len(logs) < 2:
            return Ratio(math.exp(mean), 0.0, math.inf)
        half = STUDENT[len(logs) - 2] * statistics.stdev(logs) / math.sqrt(len(logs))
        return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def rounded(self) -> dict[str, float | None]:
        known = not math.isinf(self.high)
        ends = (round(self.low, 4), round(self.high, 4)) if known else (None, None)
        return {"value": round(self.value, 4), "low": ends[0], "high": ends[1]}


@dataclass(frozen=True)
class Time:
    """Of one run of a command and all that works for it."""

    clock: float
    """Seconds from its beginning to its end."""
    processors: float
    """Seconds of processors."""

    def rounded(self) -> list[float]:
        return [round(self.clock, 2), round(self.processors, 2)]


def processor_seconds(made: Cluster) -> float:
    """Of the scheduler and the workers, so far."""
    assert made.scheduler is not None
    family = [psutil.Process(p.pid) for p in [made.scheduler, *made.workers]]
    return float(sum(t.user + t.system for t in (p.cpu_times() for p in family)))


def children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(args: list[str]) -> Time:
    environment = {**os.environ, "BYWAY_PYTHON": sys.executable}
    before, begun = children_seconds(), time.monotonic()
    subprocess.run(args, env=environment, check=True, stdout=subprocess.DEVNULL)
    return Time(time.monotonic() - begun, children_seconds() - before)


class Bench:
    """The sweep and its commands."""

    def __init__(self, folder: Path, seeds: int, processors: int) -> None:
        self.folder = folder
        self.processors = processors
        self.sweep = folder / "speed.toml"
        self.sweep.write_text(SWEEP.format(seeds=seeds))
        self.results: bytes | None = None

    def command(self, sweep: Path, *more: str) -> Time:
        out = self.folder / "results.parquet"
        words = [command(), "sweep", str(sweep), "--restart", "--json"]
        taken = run([*words, "--out", str(out), *more])
        if sweep == self.sweep:
            results = out.read_bytes()
            assert self.results in (None, results), "the results differ"
            self.results = results
        out.unlink()
        return taken

    def here(self) -> Time:
        return self.command(self.sweep, "--threads", str(self.processors))

    def there(self, made: Cluster) -> Time:
        before = processor_seconds(made)
        taken = self.command(self.sweep, "--dask", made.address)
        return Time(taken.clock, taken.processors + processor_seconds(made) - before)

    def cold(self, number: int) -> Time:
        begun = time.monotonic()
        with cluster(self.folder / f"cold{number}", self.processors) as made:
            taken = self.command(self.sweep, "--dask", made.address)
            clock = time.monotonic() - begun
            return Time(clock, taken.processors + processor_seconds(made))

    def warm_up(self, made: Cluster) -> None:
        """What is loaded once is loaded before."""
        few = self.folder / "few.toml"
        few.write_text(SWEEP.format(seeds=2))
        time.sleep(5)
        self.command(few, "--dask", made.address)

    def idle(self, made: Cluster) -> float:
        """Share of one processor that scheduler and workers take while they have nothing to do."""
        before, begun = processor_seconds(made), time.monotonic()
        time.sleep(IDLE_SECONDS)
        return (processor_seconds(made) - before) / (time.monotonic() - begun)


def get_ahead() -> None:
    """Takes precedence over other work on this machine; all children do, too."""
    with contextlib.suppress(PermissionError):
        # Linux shares processors between sessions first. Who leads a group has one already.
        os.setsid()
    group = Path("/proc/self/autogroup")
    if group.exists():
        group.write_text("-20")
    os.setpriority(os.PRIO_PROCESS, 0, -20)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="byway sweep against byway sweep --dask")
    parser.add_argument("--pairs", type=int, default=5, choices=range(1, 11))
    parser.add_argument("--seeds", type=int, default=360)
    parser.add_argument("--cold", type=int, default=1, choices=range(11))
    parser.add_argument("--processors", type=int, default=2)
    parser.add_argument("--dask-defaults", action="store_true")
    parser.add_argument("--ahead", action="store_true")
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    if asked.ahead:
        get_ahead()
    if not asked.dask_defaults:
        os.environ |= RECOMMENDED
    pairs: list[tuple[Time, Time]] = []
    with tempfile.TemporaryDirectory(prefix="byway-speed-") as name:
        bench = Bench(Path(name), asked.seeds, asked.processors)
        with cluster(bench.folder / "cluster", asked.processors) as made:
            bench.warm_up(made)
            idle = bench.idle(made)
            print(f"without work the cluster takes {100 * idle:.1f} % of one processor", flush=True)
            for pair in range(asked.pairs):
                if pair % 2 == 0:
                    here = bench.here()
                    there = bench.there(made)
                else:
                    there = bench.there(made)
                    here = bench.here()
                pairs.append((here, there))
                print(
                    f"pair {pair + 1}: here {here.clock:6.1f} s ({here.processors:6.1f} s of "
                    f"processors), Dask {there.clock:6.1f} s ({there.processors:6.1f} s): ratio "
                    f"{there.clock / here.clock:.3f} ({there.processors / here.processors:.3f}); "
                    f"load {os.getloadavg()[0]:.1f}",
                    flush=True,
                )
        cold = [bench.cold(number) for number in range(asked.cold)]
    clock = Ratio.of([there.clock / here.clock for here, there in pairs])
    used = Ratio.of([there.processors / here.processors for here, there in pairs])
    mean = math.exp(statistics.mean(math.log(here.clock) for here, _ in pairs))
    print(f"Dask takes {clock} times as long, and {used} times the processor time")
    for taken in cold:
        print(
            f"with the start of the cluster {taken.clock:.1f} s, "
            f"{taken.clock / mean:.3f} times as long"
        )
    found = {
        "measurement": "dask_speed",
        "processors": asked.processors,
        "seeds": asked.seeds,
        "settings": "Dask's defaults" if asked.dask_defaults else RECOMMENDED,
        "ahead": asked.ahead,
        "idle_share": round(idle, 4),
        "ratio": clock.rounded(),
        "processor_ratio": used.rounded(),
        "pairs": [{"here": here.rounded(), "there": there.rounded()} for here, there in pairs],
        "cold": [taken.rounded() for taken in cold],
        "cold_ratio": [round(taken.clock / mean, 4) for taken in cold],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
