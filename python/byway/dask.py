"""Sweeps on a Dask cluster: the same sweep file, and the same results byte for byte.

``docs/cluster.md`` says how it is used. Runs are dealt out in chunks (``ChunkDealer``, in
Rust); this file carries the chunks to the workers of Dask's ``distributed`` and back.
``byway.sweep(..., client=Client(...))`` calls it, and
``python -m byway.dask FILE --scheduler ADDRESS`` is what ``byway sweep FILE --dask ADDRESS``
starts.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import queue
import tempfile
import threading
import time
import uuid
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _given, _native
from ._native import ChunkDealer, ChunkWorker, Plan, Results, describe_plan
from .errors import MissingPackage, RunError, SettingError, StoreError
from .store import Place

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["ClusterError", "WorkerError", "build", "sweep"]

log = logging.getLogger("byway.dask")

CHUNK_SECONDS = 2.0
"""How long the runs of a chunk take together, if nothing is said."""
CHUNKS_PER_THREAD = 2
"""Chunks at a time for each thread of the workers: one is done while the next one waits."""
LOOK_SECONDS = 2.0
"""How often the list of workers is looked at."""
FETCH_SECONDS = 60.0
"""Rows that do not come within this time are asked for again."""
PROBE_SECONDS = 5.0
"""What a worker has said of itself is asked for again if it does not come within this time."""
SILENT_SECONDS = 30.0
"""A worker that the scheduler has not heard for so long gets no chunks, and its own are dealt out
again. Workers say that they live each half second; with thousands of them, each few seconds."""
DEATHS = 4
"""A run that as many workers died of ends the sweep."""
FAILURES = 20
"""As many failures of chunks one after the other, without a chunk that is done, end the sweep; so
do as many workers that died while they were asked which byway they have."""


class ClusterError(RunError):
    """The cluster cannot go on with the sweep. Finished runs are kept in the journal."""


class WorkerError(RuntimeError):
    """A worker cannot do chunks of this sweep: its address, and why."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(address, why)
        self.address = address
        self.why = why

    def __str__(self) -> str:
        return f"worker {self.address}: {self.why}"


@functools.cache
def build() -> str:
    """The version of byway here, and a digest of its compiled part.

    Two machines give the same numbers for certain if both are the same.
    """
    file = Path(str(_native.__file__))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return f"byway {_native.__version__} ({digest[:12]})"


# On the workers.

_workers: dict[bytes, ChunkWorker] = {}
_workers_lock = threading.Lock()
_WORKERS_KEPT = 4


def _worker_of(packed: bytes) -> ChunkWorker:
    """What does the chunks of a sweep; made once in each process."""
    key = hashlib.sha256(packed).digest()
    with _workers_lock:
        if key not in _workers:
            worker = ChunkWorker(zlib.decompress(packed), build())
            while len(_workers) >= _WORKERS_KEPT:
                del _workers[next(iter(_workers))]
            _workers[key] = worker
        return _workers[key]


def _run_chunk(packed: bytes, chunk: bytes) -> tuple[str, bytes]:
    """Does a chunk; gives the worker's address and the rows."""
    from distributed import get_worker

    address = str(get_worker().address)
    try:
        return address, _worker_of(packed).run(chunk)
    except Exception as error:
        raise WorkerError(address, str(error)) from None


def _sent_as_code() -> Callable[[bytes, bytes], tuple[str, bytes | str]]:
    """What does a chunk: the worker's address, and the rows or why there are none. A worker
    that cannot load a function by its name ends, so this one is sent as code."""

    def run_chunk(packed: bytes, chunk: bytes) -> tuple[str, bytes | str]:
        try:
            from byway.dask import _run_chunk
        except Exception as error:
            from distributed import get_worker

            return str(get_worker().address), f"has no byway that can be used: {error}"
        return _run_chunk(packed, chunk)

    return run_chunk


_CHUNK = _sent_as_code()


def _probe() -> Callable[[], tuple[bool, str]]:
    """A function that also runs where this package is not."""

    # Being inside another one, it is sent as code and not by its name.
    def probe() -> tuple[bool, str]:
        try:
            from byway.dask import build
        except Exception as error:
            return False, f"has no byway that can be used: {error}"
        return True, build()

    return probe


# On the machine of the client.


class _Run:
    """One sweep under way."""

    def __init__(
        self,
        client: Client,
        dealer: ChunkDealer,
        plan: Plan,
        chunk_seconds: float,
        progress: Callable[[int, int], object] | None,
    ) -> None:
        self.client = client
        self.dealer = dealer
        self.packed = zlib.compress(describe_plan(plan, build()))
        self.prefix = f"byway-{uuid.uuid4().hex[:12]}"
        self.chunk_seconds = chunk_seconds
        self.progress = progress
        self.scheduler = str(getattr(client.scheduler, "address", "of Dask"))
        self.flying: dict[int, Future] = {}
        self.limits: dict[int, frozenset[str]] = {}
        self.news: queue.SimpleQueue[tuple[int, Future]] = queue.SimpleQueue()
        self.threads: dict[str, int] = {}
        self.probes: dict[str, Future] = {}
        self.allowed: set[str] = set()
        self.refused: dict[str, str] = {}
        # When each worker's last sign of life came, and whose is long ago.
        self.heard: dict[str, tuple[object, float]] = {}
        self.silent: set[str] = set()
        self.asked: dict[int, bytes] = {}
        self.verdicts: dict[int, int] = {}
        self.deaths: dict[str, int] = {}
        self.failures = 0
        self.killed_probes = 0
        self.submitted = 0
        self.looked = 0.0
        self.waits_for = ""
        self.taken = 0

    def drive(self) -> None:
        """Until all runs are done."""
        self._tell()
        try:
            while not self.dealer.is_done():
                if self._connected():
                    self._look()
                    self._fill()
                self._settle()
        finally:
            self._cancel()

    # The scheduler and its workers.

    def _connected(self) -> bool:
        """Whether the scheduler answers. Dask connects again by itself for a while."""
        status = self.client.status
        if status == "running":
            if self.waits_for == "scheduler":
                log.warning("the scheduler %s answers again", self.scheduler)
                self._wait_for("")
                self.threads, self.probes = {}, {}
                self.allowed.clear()
                self.heard, self.silent = {}, set()
                self.looked = 0.0
            return True
        if status != "connecting":
            raise ClusterError(f"the scheduler {self.scheduler} is lost")
        self._wait_for("scheduler", f"the scheduler {self.scheduler} does not answer; waiting")
        # What was submitted is forgotten there.
        for number in list(self.flying):
            self._give_back(number)
        return False

    def _wait_for(self, what: str, words: str = "") -> None:
        if what != self.waits_for and words:
            log.warning("%s", words)
        self.waits_for = what

    def _look(self) -> None:
        """Finds workers that came and went."""
        now = time.monotonic()
        if now < self.looked + LOOK_SECONDS and not self.probes:
            return
        if now >= self.looked + LOOK_SECONDS:
            self.looked = now
            try:
                self.threads = dict(self.client.nthreads())
            except Exception as error:
                log.debug("the workers cannot be listed: %s", error)
                return
            self._listen()
        for gone in (self.allowed | set(self.probes) | set(self.refused)) - set(self.threads):
            self.allowed.discard(gone)
            self.refused.pop(gone, None)
            self.probes.pop(gone, None)
        known = self.allowed | set(self.probes) | set(self.refused)
        for address in set(self.threads) - known:
            key = f"{self.prefix}-probe-{self.submitted}"
            self.submitted += 1
            self.probes[address] = self.client.submit(
                _probe(), key=key, workers=[address], pure=False, retries=2, priority=10
            )
        for address, probe in list(self.probes.items()):
            if probe.done():
                del self.probes[address]
                self._judge(address, probe)
        self._judge_all()

    def _listen(self) -> None:
        """Finds workers that stand still: Dask drops them minutes later (`worker-ttl`). What
        they have is dealt out again; if they go on, they get chunks again."""
        now = time.monotonic()
        try:
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
        except Exception as error:
            log.debug("the workers cannot be heard: %s", error)
            return
        # The time of the scheduler's clock, which may be another one: only its changes count.
        for address, worker in workers.items():
            seen = worker.get("last_seen")
            if self.heard.get(address, (None, 0.0))[0] != seen:
                self.heard[address] = (seen, now)
        self.heard = {a: h for a, h in self.heard.items() if a in workers}
        silent = {a for a, (_, at) in self.heard.items() if now - at > SILENT_SECONDS}
        for address in sorted(self.silent - silent):
            if address in workers:
                log.warning("worker %s is heard again", address)
        fresh = silent - self.silent
        self.silent = silent
        if not silent:
            return
        # Each time: what a worker no longer has makes room there, in the scheduler's eyes, for chunks that wait
        # since before it was silent.
        try:
            has = self.client.processing(workers=sorted(silent))
        except Exception as error:
            log.debug("the chunks of silent workers are not known: %s", error)
            has = {}
        for address in sorted(silent):
            keys = {str(key) for key in has.get(address, ())}
            held = [n for n, future in self.flying.items() if str(future.key) in keys]
            if held or address in fresh:
                log.warning(
                    "worker %s was not heard for %g s; chunks that are dealt out again: %d",
                    address, SILENT_SECONDS, len(held),
                )  # fmt: skip
            for number in held:
                self._give_back(number)

    def _usable(self) -> frozenset[str] | None:
        """The workers that may have chunks; None if all may."""
        if not self.refused and not self.silent:
            return None
        return frozenset(self.allowed - self.silent)

    def _judge(self, address: str, probe: Future) -> None:
        """What a worker said of itself."""
        from distributed import KilledWorker

        if probe.status == "cancelled":
            return
        try:
            usable, said = probe.result(timeout=PROBE_SECONDS)
        except TimeoutError:
            # The worker died, and its answer with it. If not, it is asked once more.
            return
        except KilledWorker as error:
            # By the chunk beside it, for example; a worker that follows is asked anew.
            self.killed_probes += 1
            if self.killed_probes < FAILURES:
                return
            raise ClusterError(
                f"{FAILURES} workers died one after the other while they were asked which byway "
                f"they have, the last one was {address}. Its log may say why"
            ) from error
        except Exception as error:
            usable, said = False, f"cannot say which byway it has: {error}"
        if usable and said != build():
            usable, said = False, f"has {said}"
        self.killed_probes = 0
        if usable:
            self.allowed.add(address)
        else:
            self._refuse(address, said)

    def _refuse(self, address: str, why: str) -> None:
        self.allowed.discard(address)
        if address not in self.refused:
            self.refused[address] = why
            log.warning("worker %s is refused: it %s; here is %s", address, why, build())

    def _judge_all(self) -> None:
        """Whether there is anybody to wait for."""
        if self.refused and set(self.refused) == set(self.threads):
            listed = [f"  {address}: {why}" for address, why in sorted(self.refused.items())]
            raise ClusterError(
                "no worker can be used, as each has another byway than this machine, "
                f"{build()}:\n" + "\n".join(listed) + "\n"
                "Install the same byway everywhere: pip install the same wheel"
            )
        if not self.threads:
            self._wait_for("workers", f"the scheduler {self.scheduler} has no worker yet; waiting")
        elif self.waits_for == "workers":
            self._wait_for("")
        # A chunk whose workers are all gone would wait for them.
        for number, limit in list(self.limits.items()):
            if limit.isdisjoint(self.threads):
                self._give_back(number)

    # Chunks there and back.

    def _fill(self) -> None:
        """Deals out chunks while workers have room."""
        limit = self._usable()
        usable = self.threads if limit is None else limit
        threads = sum(self.threads.get(address, 0) for address in usable)
        while threads and len(self.flying) < CHUNKS_PER_THREAD * threads + 1:
            chunk = self.dealer.next(self.chunk_seconds, threads)
            if chunk is None:
                return
            number, _, asked = chunk
            self.asked[number] = asked
            self._submit(number)

    def _submit(self, number: int) -> None:
        limit = self._usable()
        future = self.client.submit(
            _CHUNK,
            self.packed,
            self.asked[number],
            key=f"{self.prefix}-chunk-{self.submitted}",
            pure=False,
            workers=None if limit is None else sorted(limit),
        )
        self.submitted += 1
        self.flying[number] = future
        if limit is not None:
            self.limits[number] = limit
        future.add_done_callback(functools.partial(self._arrived, number))

    def _arrived(self, number: int, future: Future) -> None:
        """Called by Dask in a thread of its own."""
        self.news.put((number, future))

    def _settle(self) -> None:
        """Waits a moment for chunks, and takes all that are there."""
        came: dict[int, Future] = {}
        wait = 0.02 if self.probes else 0.5
        try:
            number, future = self.news.get(timeout=wait)
            while True:
                if self.flying.get(number) is future:
                    came[number] = future
                number, future = self.news.get_nowait()
        except queue.Empty:
            pass
        done = {n: f for n, f in came.items() if f.status == "finished"}
        for number, rows in self._fetch(done).items():
            self._take(number, *rows)
        for number, future in came.items():
            if number in self.flying and self.flying[number] is future:
                self._failed(number, future)

    def _fetch(self, done: dict[int, Future]) -> dict[int, tuple[str, bytes | str]]:
        """The rows of finished chunks, all at once."""
        if not done:
            return {}

        async def gather() -> list[Any]:
            rows: list[Any] = await self.client.gather(list(done.values()), asynchronous=True)
            return rows

        try:
            rows = self.client.sync(gather, callback_timeout=FETCH_SECONDS)
        except Exception as error:
            log.debug("rows are lost: %s", error)
            for number in done:
                self._give_back(number)
            return {}
        return dict(zip(done, rows, strict=True))

    def _take(self, number: int, address: str, rows: bytes | str) -> None:
        if isinstance(rows, str):
            self._refuse(address, rows)
            self._give_back(number)
            self.looked = 0.0
            return
        try:
            self.dealer.take(number, rows)
        except ValueError as error:
            self._refuse(address, f"answered what was not asked for ({error})")
            self._give_back(number)
            return
        self._forget(number)
        self.failures = 0
        self.taken += 1
        self._tell()

    def _failed(self, number: int, future: Future) -> None:
        """A chunk that is not done: why, and what follows."""
        from distributed import KilledWorker

        error = future.exception(timeout=FETCH_SECONDS) if future.status == "error" else None
        if error is None:
            self._give_back(number)
        elif isinstance(error, WorkerError):
            self._refuse(error.address, error.why)
            self._give_back(number)
            self.looked = 0.0
        elif isinstance(error, KilledWorker):
            self._killed(number, error)
        else:
            self.failures += 1
            if self.failures >= FAILURES:
                runs = self.dealer.describe(number)
                raise ClusterError(
                    f"{FAILURES} chunks failed one after the other, the last one, {runs}, "
                    f"with: {type(error).__name__}: {error}"
                )
            log.warning("chunk %d failed, once more: %s: %s", number, type(error).__name__, error)
            self._give_back(number)

    def _killed(self, number: int, error: Any) -> None:
        """Workers died while they had a chunk: by its fault, or by chance."""
        runs = self.dealer.describe(number)
        died = error.allowed_failures + 1
        last = getattr(error.last_worker, "address", "unknown")
        self.verdicts[number] = self.verdicts.get(number, 0) + 1
        single = runs.startswith("the run ")
        if single:
            self.deaths[runs] = self.deaths.get(runs, 0) + died
            if self.deaths[runs] >= DEATHS:
                raise ClusterError(
                    f"{runs} ends the workers that do it: {self.deaths[runs]} died, the last one "
                    f"was {last}. Its log may say why; too little memory is a common reason"
                )
        again = single or self.verdicts[number] == 1
        log.warning(
            "workers died with %s: %d, the last one was %s; %s",
            runs,
            died,
            last,
            "once more" if again else "its runs are dealt out one by one",
        )
        if again:
            self._submit(number)
        else:
            self._give_back(number, apart=True)

    def _forget(self, number: int) -> None:
        for known in (self.flying, self.limits, self.asked, self.verdicts):
            known.pop(number, None)

    def _give_back(self, number: int, *, apart: bool = False) -> None:
        future = self.flying.get(number)
        self._forget(number)
        self.dealer.give_back(number, apart)
        loop = self.client.loop
        if loop is not None and future is not None and not future.done():
            # Not waited for: the scheduler may be busy, or gone.
            self._quietly(lambda: loop.add_callback(future.cancel, asynchronous=True))

    def _cancel(self) -> None:
        """Nothing that was dealt out is needed any more."""
        futures = [*self.flying.values(), *self.probes.values()]
        self.flying.clear()
        if futures and self.client.status == "running":
            self._quietly(lambda: self.client.cancel(futures))

    @staticmethod
    def _quietly(act: Callable[[], object]) -> None:
        try:
            act()
        except Exception as error:
            log.debug("not cancelled: %s", error)

    def _tell(self) -> None:
        if self.progress is not None:
            self.progress(*self.dealer.progress())


def _check(client: object) -> None:
    """Refuses what is no client, or one that is used otherwise."""
    try:
        from distributed import Client
    except ImportError:
        raise MissingPackage(
            "client= needs the package distributed: pip install 'byway[dask]'"
        ) from None
    if not isinstance(client, Client):
        raise SettingError(
            f"client: found {client!r}, expected a distributed.Client, such as "
            'Client("tcp://10.0.0.1:8786")'
        )
    if client.asynchronous:
        raise SettingError(
            "client: it is asynchronous; make it without asynchronous=True, in another thread "
            "than the event loop's"
        )
    if client.status not in ("running", "connecting"):
        raise ClusterError(f"the client is {client.status}; make another one")


def sweep(
    plan: Plan,
    out: str | os.PathLike[str],
    *,
    client: Client,
    journal: str | os.PathLike[str] | None = None,
    restart: bool = False,
    chunk_seconds: float = CHUNK_SECONDS,
    progress: Callable[[int, int], object] | None = None,
    found: Callable[[int, int], object] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Outcome:
    """Runs a sweep on the workers of ``client``; ``byway.sweep`` explains the arguments.

    ``found`` is called with the runs that an earlier call has finished, and with the bytes of
    one that was cut short.
    """
    _given.seconds("chunk_seconds", chunk_seconds, 0.01, 3600)
    place = Place(out, journal, storage_options)
    _check(client)
    place.fetch(restart)
    dealer = ChunkDealer(plan, place.local, build(), restart)
    try:
        if found is not None and dealer.found is not None:
            found(*dealer.found)
        finished = dealer.is_finished()
        if not finished:
            _drive(_Run(client, dealer, plan, chunk_seconds, progress), place)
            _write(dealer, place)
        place.put()
        dealer.end()
        place.clean()
    except BaseException:
        # Who keeps the exception does not keep the journal's lock.
        dealer.close()
        raise
    return Outcome(dealer, place.shown, finished)


def sweep_in(plan: Plan, out: str | os.PathLike[str] | None, **more: Any) -> Results:
    """The results of `sweep`; without ``out`` they are kept in memory."""
    if out is not None:
        return sweep(plan, out, **more).results()
    with tempfile.TemporaryDirectory(prefix="byway-") as folder:
        outcome = sweep(plan, Path(folder) / "sweep.parquet", **more)
        return outcome.results(in_memory=True)


def _drive(run: _Run, place: Place) -> None:
    try:
        run.drive()
    except BaseException as error:
        done, most = run.dealer.progress()
        run.dealer.sync()
        error.add_note(
            f"{done} of {most} runs are kept in {place.journal}; the same call resumes with them"
        )
        raise


def _write(dealer: ChunkDealer, place: Place) -> None:
    try:
        dealer.write()
    except StoreError as error:
        error.add_note(f"all runs are kept in {place.journal}; the same call writes them")
        raise


class Outcome:
    """A sweep that is done."""

    def __init__(self, dealer: ChunkDealer, place: str, was_finished: bool) -> None:
        self._dealer = dealer
        self.place = place
        """Where the results are: a file or a URL."""
        self.was_finished = was_finished
        """Whether they were there already."""

    def summary(self) -> str:
        """What ``byway sweep --json`` prints."""
        return self._dealer.json()

    def text(self, width: int, colour: bool) -> str:
        """What ``byway sweep`` prints."""
        return self._dealer.text(self.place, width, colour)

    def results(self, *, in_memory: bool = False) -> Results:
        """The results; nothing else can be asked afterwards."""
        no_file = in_memory or "://" in self.place
        return self._dealer.take_results(None if no_file else Path(self.place))


if __name__ == "__main__":
    # Workers must find what is pickled here under its own name.
    from byway.dask_main import main

    raise SystemExit(main())
