"""What happens in a run of interop/chaos, and when: all of it follows from the seed."""

import dataclasses
import hashlib
import random

# How often each kind is drawn, and the seconds that it lasts at most.
KINDS = {
    "cut": (8, 6.0),  # one path loses all packets, silently
    "outage": (3, 5.0),  # both do
    "down": (2, 4.0),  # a card goes down, so sends fail
    "slow": (3, 5.0),  # a path has a twentieth of its rate
    "flood": (4, 4.0),  # a stranger sends INITs, packets out of the blue or noise
    "kill-sender": (5, 0.0),  # SIGKILL; the same command runs again
    "stop-sender": (3, 6.0),  # SIGSTOP, SIGCONT
    "end-sender": (2, 0.0),  # SIGTERM; the same command runs again
    "kill-receiver": (2, 2.0),  # SIGKILL, and again after so long
    "end-receiver": (2, 2.0),  # SIGTERM, and again after so long
    "stop-receiver": (2, 3.0),
    "restart-pipe": (3, 0.0),  # one end of a pipe is killed
}

FLOODS = ("init", "blue", "noise")


@dataclasses.dataclass(frozen=True)
class Event:
    """Something that happens after `at` seconds and lasts `lasts`."""

    at: float
    kind: str
    which: int
    lasts: float


def events(seed: int, seconds: float) -> list[Event]:
    """One event every 1.5 s on average. The last fifth, at most 30 s, is calm."""
    draw = random.Random(f"events {seed}")
    kinds = list(KINDS)
    weights = [KINDS[kind][0] for kind in kinds]
    found, at, end = [], 1.0, seconds - min(seconds / 5, 30.0)
    while True:
        at += draw.expovariate(1 / 1.5)
        if at >= end:
            return found
        kind = draw.choices(kinds, weights)[0]
        lasts = draw.uniform(0.2, 1.0) * KINDS[kind][1]
        found.append(Event(round(at, 3), kind, draw.randrange(1000), round(lasts, 3)))


def size(seed: int, worker: int, number: int) -> int:
    """Bytes of a file: many small ones, some of 30 MB."""
    draw = random.Random(f"size {seed} {worker} {number}")
    return int(30_000_000 * draw.random() ** 3)


def contents(seed: int, worker: int, number: int, length: int) -> bytes:
    """Bytes that no other file has."""
    return random.Random(f"bytes {seed} {worker} {number}").randbytes(length)


def digest(plan: list[Event]) -> str:
    """A short name of a plan: equal seeds and lengths give equal plans."""
    return hashlib.sha256(repr(plan).encode()).hexdigest()[:12]
