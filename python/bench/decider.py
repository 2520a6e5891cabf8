"""What a rule in Python costs: nanoseconds for each decision, and how much longer a run takes.

    python python/bench/decider.py

The rules in Python are those that are built in, so that the packets are the same and only the
cost differs. The times are the medians of some runs of each, one after another; the run is a
transfer with many losses, so that there are many decisions.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import byway
from byway.policy import Paths

SCENARIO = {
    "name": "losses",
    "limit": "2000 s",
    "path": [{"rate": "100 Mbit/s", "delay": "5 ms", "loss": "3 %"} for _ in range(2)],
    "traffic": {"kind": "bulk", "size": "40 MB"},
    "protocol": {"preset": "rfc2960", "retransmission.target": "AllRtxAlt"},
}
REPEATS = 7

asked = 0


def nothing(view: Paths) -> None:
    """The least that a rule can do: the built-in one answers."""
    global asked
    asked += 1


def alternate(view: Paths) -> int:
    """AllRtxAlt, as it is built in."""
    assert view.last is not None
    other = view.alternate(view.last)
    return view.data_path if other is None else other


def widest(view: Paths) -> int:
    """Reads every path: what a rule of interest does. Its packets are others."""
    return max((p for p in view.paths if p.usable), key=lambda p: p.room).number


def measure(rule: Callable[[Paths], int | None] | None) -> tuple[float, byway.Result]:
    """Seconds of a run, and its result. Without a rule the run is done in the same way, on
    one thread."""
    decider = None if rule is None else byway.policy.retransmission_target(rule)
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        result = byway.run(SCENARIO, decider=decider)[0]
        times.append(time.perf_counter() - began)
    return statistics.median(times), result


def main() -> None:
    """Measures and prints."""
    byway.run(SCENARIO, decider=byway.policy.retransmission_target(nothing))
    decisions = asked
    base, builtin = measure(None)
    print(f"{builtin.retransmissions} retransmissions, {decisions} decisions in each run")
    print(f"{'rule':22}  {'run':>9}  {'ratio':>6}  {'each decision':>13}")
    print(f"{'built in (Rust)':22}  {base * 1e3:6.0f} ms  {1:6.2f}")
    for name, rule in [("returns None", nothing), ("AllRtxAlt in Python", alternate)]:
        took, result = measure(rule)
        if result.digest != builtin.digest:
            raise SystemExit(f"{name}: other packets than with the built-in rule")
        each = (took - base) / decisions * 1e9
        print(f"{name:22}  {took * 1e3:6.0f} ms  {took / base:6.2f}  {each:10.0f} ns")
    count = 0

    def counted(view: Paths) -> int:
        nonlocal count
        count += 1
        return widest(view)

    byway.run(SCENARIO, decider=byway.policy.retransmission_target(counted))
    took, _ = measure(widest)
    print(f"{'reads all paths':22}  {took * 1e3:6.0f} ms  {took / base:6.2f}  (other packets, {count} decisions)")


if __name__ == "__main__":
    main()
