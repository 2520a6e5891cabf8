"""Rules of the protocol as functions of yours, for quick ideas.

A rule reads a view of the paths and answers. It never sends, sets timers or changes a path;
the association does, and a wrong answer cannot break the protocol.

>>> import byway
>>> @byway.policy.retransmission_target
... def widest(view):
...     return max((p for p in view.paths if p.usable), key=lambda p: p.room)
>>> byway.run(only="RFC 9260", decider=widest)[0].policy
'RFC 9260 (custom)'

Paths are counted from 0; the primary is path 0 unless it was dead at set-up. A function
returns a path of `view.paths` or its number, or None to leave the answer to the built-in
rule. The same view must get the same answer: the association may ask several times, and a
function of the view alone gives the same run again. An exception ends the run and comes out
of `byway.run`.

What it costs: docs/python.md has the measured figure, and `python/bench/decider.py` measures
it on your machine. For runs by the thousand, write the rule in Rust (docs/extending.md).
"""

from __future__ import annotations

from collections.abc import Callable

from ._native import Decider, Path, Paths

__all__ = ["Decider", "Path", "Paths", "failover", "retransmission_target"]


def retransmission_target(function: Callable[[Paths], Path | int | None]) -> Decider:
    """A rule for the path of each retransmission, in place of `retransmission.target`.

    The view has `last`, the path that lost the chunk, and `cause`: "fast_retransmit",
    "timeout" or "probe_timeout". If the answer is an unconfirmed address, the chunk goes
    where new data goes. May be used as a decorator.

    Raises TypeError if `function` cannot be called.
    """
    return Decider.retransmission_target(function)


def failover(
    data_path: Callable[[Paths], Path | int | None] | None = None,
    *,
    judge: Callable[[Paths], str | None] | None = None,
    switch_primary: Callable[[Paths], Path | int | None] | None = None,
) -> Decider:
    """A rule for failover, in place of the settings in `failover`. May be used as a
    decorator of `data_path`.

    `data_path` answers where new data goes, after each change of a path's state, each timeout
    and each heartbeat that was answered or lost; `view.timed_out` is the path whose T3-rtx
    expired, if that is why it is asked.

    `judge` answers what path `view.path` is after one more error: "active",
    "potentially_failed" or "inactive"; `view.limit` is the number of errors that the settings
    allow. An unconfirmed address can only become inactive.

    `switch_primary` answers which path becomes the primary; None for none.

    Where no function is given, or it returns None, the built-in rule answers.

    Raises TypeError if none is given, or one cannot be called.
    """
    return Decider.failover(data_path, judge, switch_primary)
