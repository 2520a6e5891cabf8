"""What a rule in Python costs: nanoseconds for each decision, and how much longer a run takes.

    python python/bench/decider.py

The first two rules answer as the built-in one, so that the packets are the same and only the
cost differs. The times are of the processor, the least of some runs of each, in turns; the run
is a transfer with many losses, so that there are many decisions.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import byway
from byway.policy import Paths

SCENARIO = {
    "name": "losses",
    "limit": "10000 s",
    "path": [{"rate": "100 Mbit/s", "delay": "5 ms", "loss": "10 %"} for _ in range(2)],
    "traffic": {"kind": "bulk", "size": "80 MB"},
    "protocol": {"preset": "rfc2960", "retransmission.target": "AllRtxAlt"},
}
REPEATS = 9


def nothing(view: Paths) -> None:
    """The least that a rule can do: the built-in one answers."""
    return None


def alternate(view: Paths) -> int:
    """AllRtxAlt, as it is built in."""
    assert view.last is not None
    other = view.alternate(view.last)
    return view.data_path if other is None else other


def widest(view: Paths) -> int:
    """Reads every path: what a rule of interest does. Its packets are others."""
    return max((p for p in view.paths if p.usable), key=lambda p: p.room).number


def once(rule: Callable[[Paths], int | None] | None) -> tuple[float, byway.Result]:
    """Seconds of the processor that a run takes, and its result."""
    decider = None if rule is None else byway.policy.retransmission_target(rule)
    began = time.process_time()
    result = byway.run(SCENARIO, decider=decider)[0]
    return time.process_time() - began, result


def decisions_of(rule: Callable[[Paths], int | None]) -> int:
    """How often a rule is asked in a run."""
    asked = 0

    def counted(view: Paths) -> int | None:
        nonlocal asked
        asked += 1
        return rule(view)

    once(counted)
    return asked


def main() -> None:
    """Measures and prints."""
    rules: dict[str, Callable[[Paths], int | None] | None] = {
        "built in (Rust)": None,
        "returns None": nothing,
        "AllRtxAlt in Python": alternate,
        "reads all paths": widest,
    }
    least: dict[str, float] = {}
    digests: dict[str, str] = {}
    for _ in range(REPEATS):
        for name, rule in rules.items():
            took, result = once(rule)
            least[name] = min(took, least.get(name, took))
            digests[name] = result.digest
    base = least["built in (Rust)"]
    print(f"{'rule':20}  {'run':>8}  {'ratio':>5}  {'decisions':>9}  {'each':>8}")
    for name, rule in rules.items():
        same = digests[name] == digests["built in (Rust)"]
        count = decisions_of(rule) if rule is not None else 0
        each = f"{(least[name] - base) / count * 1e9:5.0f} ns" if rule is not None and same else "-"
        note = "" if same else "  (other packets)"
        print(
            f"{name:20}  {least[name] * 1e3:5.0f} ms  {least[name] / base:5.2f}  {count:9}  {each:>8}{note}"
        )


if __name__ == "__main__":
    main()
