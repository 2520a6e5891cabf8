"""The Rust half of byway. It has no promises; `import byway` has."""

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, NoReturn, final


__version__: str

@final
class Scenario:
    """A scenario, read and checked."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def description(self) -> str:
        """What it shows."""
    @property
    def seed(self) -> int:
        """Seed of all chance."""
    @property
    def paths(self) -> list[str]:
        """Names of its paths, the primary first."""
    @property
    def policies(self) -> list[str]:
        """Names of its policies."""
    def to_toml(self) -> str:
        """The scenario as a file that `byway run` takes, with nothing left to defaults."""
    def warnings(self) -> list[tuple[str, str]]:
        """Settings that contradict each other: the policy's name, and what is odd."""

@final
class Path:
    """One path, as it was when the rule was asked."""

    @property
    def number(self) -> int:
        """Its number, counted from 0."""
    @property
    def state(self) -> str:
        """"unconfirmed", "active", "potentially_failed" or "inactive"."""
    @property
    def cwnd(self) -> int:
        """Congestion window, bytes."""
    @property
    def ssthresh(self) -> int:
        """Slow start threshold, bytes."""
    @property
    def room(self) -> int:
        """The free part of the window, bytes."""
    @property
    def srtt_s(self) -> float | None:
        """Smoothed round trip, seconds; None before the first measurement."""
    @property
    def rto_s(self) -> float:
        """Retransmission timeout, seconds."""
    @property
    def errors(self) -> int:
        """Consecutive errors."""
    @property
    def heartbeats_lost(self) -> int:
        """Heartbeats lost since it stopped being active."""
    @property
    def heartbeats_answered(self) -> int:
        """Heartbeats answered since its last error."""
    @property
    def loss(self) -> float:
        """Estimated share of chunks lost, 0 to 1; only with concurrent multipath transfer."""
    @property
    def confirmed(self) -> bool:
        """Whether its address was ever confirmed."""
    @property
    def usable(self) -> bool:
        """Whether data may be sent on it: it is active or potentially failed."""

@final
class Paths:
    """What a rule may read: the paths, and what is asked."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """All paths, by number."""
    @property
    def data_path(self) -> int:
        """Number of the path that takes new data now."""
    @property
    def primary(self) -> int:
        """Number of the primary."""
    @property
    def last_active(self) -> int:
        """Number of the path that was active last."""
    @property
    def last(self) -> int | None:
        """Number of the path that lost the chunk; None unless a target is asked for."""
    @property
    def cause(self) -> str | None:
        """Why it is lost: "fast_retransmit", "timeout" or "probe_timeout"; None unless a
        target is asked for."""
    @property
    def timed_out(self) -> int | None:
        """Number of the path whose T3-rtx expired, if that is why data_path is asked."""
    @property
    def path(self) -> int | None:
        """Number of the path to be judged; None unless judge is asked."""
    @property
    def limit(self) -> int | None:
        """Errors that the settings allow this path; None unless judge is asked."""
    def __len__(self) -> int: ...
    def __getitem__(self, number: int, /) -> Path: ...
    def alternate(self, after: int) -> int | None:
        """The number of the active path that differs most from path `after` in its
        addresses, the next one in order if several do (RFC 9260 section 6.4.1); None if no
        other path is active."""

@final
class Decider:
    """A rule in Python: what `byway.policy` makes."""

    @staticmethod
    def retransmission_target(function: Callable[[Paths], Path | int | None]) -> Decider:
        """Where a lost chunk is sent again."""
    @staticmethod
    def failover(
        data_path: Callable[[Paths], Path | int | None] | None = None,
        judge: Callable[[Paths], str | None] | None = None,
        switch_primary: Callable[[Paths], Path | int | None] | None = None,
    ) -> Decider:
        """Where new data goes, and which state a path with errors gets."""
    @property
    def name(self) -> str:
        """The function's name."""
    @property
    def kind(self) -> str:
        """What it decides: "retransmission target" or "failover"."""

@final
class Run:
    """What the policies of a scenario did."""

    def json(self) -> str: ...
    def html(self) -> str: ...
    def table(self, width: int) -> str: ...
    def picture(self, width: int) -> str: ...
    def summary(self) -> str: ...
    def series(self, index: int) -> dict[str, Any]: ...

@final
class Plan:
    """A sweep that can be run."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def axes(self) -> list[tuple[str, list[str]]]:
        """Names and values of its axes, the slowest first."""
    @property
    def cells(self) -> list[list[str]]:
        """The value of each cell on each axis."""
    @property
    def seeds(self) -> list[int]:
        """The seeds of each cell."""
    @property
    def runs(self) -> int:
        """The greatest number of runs that there will be."""
    def to_toml(self) -> str:
        """The sweep as the text of its file."""

@final
class Results:
    """The results of a sweep."""

    @property
    def file(self) -> os.PathLike[str] | None: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def seeds(self) -> list[int]: ...
    @property
    def axes(self) -> list[tuple[str, list[str]]]: ...
    @property
    def cells(self) -> list[list[str]]: ...
    @property
    def metrics(self) -> list[tuple[str, str]]: ...
    @property
    def shown(self) -> list[str]: ...
    @property
    def confidence(self) -> float: ...
    def __len__(self) -> int: ...
    def columns(self) -> dict[str, Any]: ...
    def summary(self) -> str: ...
    def table(self, width: int) -> str: ...
    def means(self, metric: str) -> list[tuple[float, float | None, int]]: ...
    def scenario(self, row: int) -> Scenario: ...
    def write(self, path: str | os.PathLike[str]) -> None: ...

@final
class Reproduction:
    """Claims and figures, run again."""

    def json(self) -> str: ...
    def text(self, width: int) -> str: ...
    def html(self) -> str: ...
    def figures(self) -> str: ...

@final
class Advice:
    """Recommended settings, and the runs that speak for them."""

    def json(self) -> str: ...
    def table(self) -> str: ...
    def files(self) -> list[tuple[str, str]]: ...

def advise(
    paths: object,
    *,
    traffic: str | None,
    hurts: str | None,
    max_stall: str | None,
    at_most_moves: str | None,
    max_cost: str | None,
    targets: Sequence[str],
    within: str,
    runs: tuple[int, ...] | None,
    seed: int,
    progress: Callable[[int, int], object] | None,
) -> Advice: ...
def read_scenario(
    source: object = None,
    *,
    seed: object = None,
    policies: object = None,
    only: Sequence[str] | None = None,
    settings: object = None,
) -> Scenario: ...
def run(
    scenario: Scenario,
    *,
    deciders: Sequence[tuple[str | None, Decider]],
    captures: str | os.PathLike[str] | None,
    progress: Callable[[int, int], object] | None,
) -> Run: ...
def to_toml(dictionary: object) -> str: ...
def list_settings(preset: str = "rfc9260", settings: object = None) -> str: ...
def read_plan(source: object) -> Plan: ...
def sweep(
    plan: Plan,
    *,
    out: str | os.PathLike[str] | None,
    restart: bool,
    threads: int,
    program: str,
    progress: Callable[[int, int], object] | None,
) -> Results: ...
def read_results(path: str | os.PathLike[str]) -> Results: ...
def compare_files(
    a: tuple[str, Results],
    b: tuple[str, Results],
    metrics: Sequence[str],
    confidence: float | None,
    width: int,
) -> tuple[str, str]: ...
def compare_values(
    results: Results,
    axis: str,
    values: tuple[str, str],
    metrics: Sequence[str],
    confidence: float | None,
    width: int,
) -> tuple[str, str]: ...
def metrics() -> str: ...
def failover_time(
    preset: str, settings: object, rtt: object, rto: object
) -> tuple[str, str]: ...
def reproduce(
    what: Sequence[str],
    *,
    full: bool,
    experiments: str | os.PathLike[str] | None,
    runs: str | os.PathLike[str] | None,
    raw: str | os.PathLike[str] | None,
    program: str,
    progress: Callable[[int, int], object] | None,
) -> Reproduction: ...

# --- byway.aio ---

@final
class Gate:
    @property
    def number(self) -> int: ...

@final
class Reactor:
    def __new__(cls) -> Reactor: ...
    def fileno(self) -> int: ...
    def gate(self) -> Gate: ...
    def take(self) -> list[int]: ...
    def abort(self, reason: str) -> None: ...

@final
class Operation:
    def poll(self, gate: Gate) -> tuple[Any] | None: ...
    def cancel(self) -> None: ...

@final
class SocketSettings: ...

@final
class Message:
    """A message that has arrived, or a part of a long one. `len()` gives its bytes."""

    @property
    def data(self) -> bytes:
        """The bytes."""
    @property
    def stream(self) -> int:
        """Its stream."""
    @property
    def ssn(self) -> int:
        """Stream sequence number; 0 for unordered messages."""
    @property
    def ppid(self) -> int:
        """Payload protocol identifier."""
    @property
    def unordered(self) -> bool:
        """Whether it was sent unordered."""
    @property
    def first(self) -> bool:
        """Whether this is the first part of its message."""
    @property
    def last(self) -> bool:
        """Whether this is the last part; a message that is not long has one part only."""
    def __len__(self) -> int: ...

@final
class Unsent:
    def poll(self, gate: Gate) -> bool | None: ...

@final
class Endpoint:
    def __new__(
        cls,
        reactor: Reactor,
        local: list[str],
        encapsulation: str,
        beside_kernel_sctp: bool,
        port: int,
        settings: SocketSettings,
        accept: bool,
        backlog: int,
        max_associations: int,
        max_associations_per_peer: int,
        max_memory: int,
        workers: int,
    ) -> Endpoint: ...
    def addresses(self) -> list[str]: ...
    def port(self) -> int: ...
    def association_count(self) -> int: ...
    def memory(self) -> int: ...
    def stats(self) -> dict[str, Any]: ...
    def accept(self, gate: Gate) -> Association | Literal[False] | None: ...
    def connect(self, remote: list[str], port: int, settings: SocketSettings) -> Operation: ...
    def close(self) -> Operation: ...
    def abort(self, reason: bytes) -> Operation: ...

@final
class Association:
    def send(
        self,
        data: object,
        stream: int,
        ppid: int,
        unordered: bool,
        immediate_ack: bool,
        path: int | None,
        context: int,
    ) -> Unsent | None: ...
    def message(
        self,
        data: object,
        stream: int,
        ppid: int,
        unordered: bool,
        immediate_ack: bool,
        path: int | None,
        context: int,
    ) -> Unsent: ...
    def write(self, data: bytes, start: int, block: int, stream: int, gate: Gate) -> int: ...
    def receive(self, stream: int | None, most: int, gate: Gate) -> list[Message] | None: ...
    def open_stream(self, stream: int) -> None: ...
    def event(self, gate: Gate) -> tuple[str, dict[str, Any]] | Literal[False] | None: ...
    def events_missed(self) -> int: ...
    def paths(self) -> list[dict[str, Any]]: ...
    def stats(self) -> dict[str, Any]: ...
    def settings(self) -> str: ...
    def set_primary(self, path: int) -> None: ...
    def set_backup(self, path: int, backup: bool) -> None: ...
    def set_peer_primary(self, local: str) -> None: ...
    def interleaves(self) -> bool: ...
    def set_stream_value(self, stream: int, value: int) -> None: ...
    def take_handshake(self) -> bool: ...
    def give_handshake_back(self) -> None: ...
    def count_violation(self) -> None: ...
    def bars_violator(self) -> bool: ...
    def request_heartbeat(self, path: int) -> None: ...
    def abort(self, reason: bytes) -> bool: ...
    def is_closed(self) -> bool: ...
    def undelivered(self) -> list[dict[str, Any]]: ...
    def raise_end(self) -> NoReturn: ...
    def shutdown(self) -> Operation: ...
    def wait_closed(self) -> Operation: ...
    def drained(self) -> Operation: ...

def to_bytes(data: object) -> bytes: ...
def socket_settings(preset: str, changes: list[tuple[str, str]]) -> SocketSettings: ...
def forked() -> None: ...
def finish() -> None: ...
def describe_plan(plan: Plan, build: str) -> bytes:
    """A sweep as bytes, for workers that have the program `build`."""

def journal_path(file: str | os.PathLike[str]) -> os.PathLike[str]:
    """The journal of a results file."""

@final
class ChunkWorker:
    """What does chunks. One serves all threads of a process."""

    def __new__(cls, description: bytes, build: str) -> ChunkWorker:
        """Makes ready for the chunks of a sweep. ValueError if `build` is not the one that the
        description is for."""
    def run(self, chunk: bytes) -> bytes:
        """The rows of a chunk."""

@final
class ChunkDealer:
    """What deals out the chunks of a sweep, keeps their rows and writes the results."""

    def __new__(
        cls, plan: Plan, file: str | os.PathLike[str], program: str, restart: bool
    ) -> ChunkDealer:
        """Begins a sweep, or resumes it."""
    @property
    def found(self) -> tuple[int, int] | None:
        """What was found of an earlier sweep: runs, and bytes of one that was cut off."""
    def has_results(self) -> bool:
        """Whether the results are there, from before or since they were written."""
    def is_finished(self) -> bool:
        """Whether the results were there already."""
    def is_done(self) -> bool:
        """Whether all runs are done."""
    def progress(self) -> tuple[int, int]:
        """Rows that are done, and rows at most."""
    def next(self, seconds: float, threads: int) -> tuple[int, int, bytes] | None:
        """Number, runs and bytes of the next chunk; None when no run waits."""
    def take(self, number: int, rows: bytes) -> bool:
        """Takes the rows of a chunk; False if it is not dealt out. ValueError if these are not
        its rows."""
    def give_back(self, number: int, apart: bool) -> None:
        """Takes a chunk back. Its runs are dealt out again, one by one if `apart`."""
    def describe(self, number: int) -> str:
        """Which runs a chunk has, in words."""
    def sync(self) -> None:
        """Brings all rows to the disk."""
    def write(self) -> None:
        """Writes the results file. The journal stays until `end`."""
    def end(self) -> None:
        """Removes the journal."""
    def close(self) -> None:
        """Closes the files, which stay as they are."""
    def text(self, place: str, width: int, colour: bool) -> str:
        """What `byway sweep` prints of results that are at `place`."""
    def json(self) -> str:
        """What `byway sweep --json` prints."""
    def take_results(self, file: str | os.PathLike[str] | None) -> Results:
        """The results."""
