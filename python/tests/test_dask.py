"""Sweeps on a real Dask cluster whose processes are killed, stopped, old or lying."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="byway[dask] is not installed")

from cluster import Cluster, cluster, command  # noqa: E402
from distributed import Client  # noqa: E402

import byway  # noqa: E402
import byway.dask as cluster_of  # noqa: E402
from byway._native import ChunkDealer, ChunkWorker, describe_plan, journal_path  # noqa: E402

GRID = """
name = "grid"
scenario = "scenario.toml"
seeds = {seeds}
metrics = ["transfer_s", "timeouts"]
{stop}
[[axis]]
key = "path.*.loss"
values = ["0 %", "2 %", "4 %", "6 %", "8 %", "10 %"]
[[axis]]
name = "timers"
[[axis.values]]
name = "as they are"
[[axis.values]]
name = "short"
rto.min = "200 ms"
"""
STOP = '[stop]\nwithin = "20 %"\nleast = 10\nstep = 5\n'
SCENARIO = """
limit = "300 s"
[[path]]
rate = "10 Mbit/s"
delay = "20 ms"
[[path]]
rate = "10 Mbit/s"
delay = "20 ms"
[[event]]
at = "400 ms"
path = 1
do = "down"
[traffic]
kind = "bulk"
size = "{size}"
[[policy]]
name = "today"
[[policy]]
name = "papers"
preset = "rfc2960"
"""


def files(folder: Path, *, seeds: int = 30, stop: str = "", size: str = "1 MB") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scenario.toml").write_text(SCENARIO.format(size=size))
    sweep = folder / "grid.toml"
    sweep.write_text(GRID.format(seeds=seeds, stop=stop))
    return sweep


def local(sweep: Path) -> bytes:
    """What `byway sweep` writes on one machine."""
    out = sweep.parent / "local.parquet"
    subprocess.run([command(), "sweep", str(sweep), "--out", str(out), "--json"],
                   check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    return out.read_bytes()


@contextlib.contextmanager
def client_of(made: Cluster, timeout: float = 30) -> Iterator[Client]:
    client = Client(made.address, set_as_default=False, timeout=timeout)
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=2)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three workers that no test harms."""
    with cluster(tmp_path_factory.mktemp("shared"), 3) as made:
        yield made


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A sweep of about a second, and its results."""
    sweep = files(tmp_path_factory.mktemp("small"), seeds=12)
    return sweep, local(sweep)


def start(
    made: Cluster, sweep: Path, out: Path, *more: str, folder: Path | None = None
) -> subprocess.Popen[str]:
    """The command on a cluster, as another process."""
    args = [command(), "sweep", str(sweep), "--dask", made.address, "--out", str(out), *more]
    environment = {**os.environ, "BYWAY_PYTHON": sys.executable}
    return subprocess.Popen(
        args, cwd=folder, env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for_rows(out: Path, size: int, process: subprocess.Popen[str] | None = None) -> None:
    """Until the journal has as many bytes."""
    journal = Path(journal_path(out))
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with contextlib.suppress(FileNotFoundError):
            if journal.stat().st_size > size:
                return
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.02)
    raise TimeoutError(f"{journal} does not grow")


class Killer(threading.Thread):
    """Kills something again and again, at moments that a seed chooses."""

    def __init__(self, seed: int, kill: Callable[[random.Random], None]) -> None:
        super().__init__(daemon=True)
        self.random = random.Random(seed)
        self.kill = kill
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(self.random.uniform(0.3, 1.5)):
            self.kill(self.random)

    def __enter__(self) -> Killer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.join()


@pytest.mark.parametrize(("seed", "stop"), [(1, ""), (2, STOP)])
def test_workers_that_are_killed_and_come_later_change_no_byte(
    tmp_path: Path, seed: int, stop: str
) -> None:
    sweep = files(tmp_path, seeds=60, stop=stop, size="4 MB")
    expected = local(sweep)
    out = tmp_path / "dask.parquet"
    with cluster(tmp_path / "cluster", 3) as made, client_of(made) as client:

        def kill(chance: random.Random) -> None:
            # On a loaded machine none would else live until its first chunk.
            if len(client.nthreads()) == 3:
                made.kill_worker(chance.choice(made.workers))
                # Another one joins, later than the first ones.
                made.start_worker()

        with Killer(seed, kill):
            byway.sweep(sweep, out=out, client=client, chunk_seconds=0.3)
        assert made.started > 4, "a worker was killed"
        assert out.read_bytes() == expected, made.logs()
    assert not Path(journal_path(out)).exists()


def test_nannies_start_killed_workers_again(tmp_path: Path) -> None:
    sweep = files(tmp_path, seeds=40, size="4 MB")
    expected = local(sweep)
    out = tmp_path / "dask.parquet"
    killed = []
    with cluster(tmp_path / "cluster", 3, nanny=True) as made, client_of(made) as client:
        client.wait_for_workers(3, timeout=60)

        def kill(chance: random.Random) -> None:
            # A nanny whose worker dies before it has begun gives up.
            if len(client.nthreads()) == 3:
                killed.append(made.kill_child(chance.choice(made.workers)))

        with Killer(3, kill):
            byway.sweep(sweep, out=out, client=client, chunk_seconds=0.3)
        assert any(killed)
        assert out.read_bytes() == expected, made.logs()


def test_a_scheduler_that_comes_back_is_used_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sweep = files(tmp_path, seeds=60, size="4 MB")
    expected = local(sweep)
    out = tmp_path / "dask.parquet"
    with cluster(tmp_path / "cluster", 2) as made, client_of(made) as client:

        def restart() -> None:
            wait_for_rows(out, 20_000)
            made.kill_scheduler()
            made.start_scheduler()
            # Its workers may have ended with it.
            made.start_worker()
            went_on.append(Path(journal_path(out)).stat().st_size)

        counts: list[int] = []
        went_on: list[int] = []
        thread = threading.Thread(target=restart)
        thread.start()
        with caplog.at_level(logging.WARNING, "byway.dask"):
            byway.sweep(
                sweep, out=out, client=client, chunk_seconds=0.2,
                progress=lambda done, _: counts.append(done),
            )  # fmt: skip
        thread.join()
        assert out.read_bytes() == expected
    # What had come is kept: the journal is longer than it was, and no run is done twice.
    assert went_on[0] > 20_000
    assert counts == sorted(counts)
    assert "does not answer; waiting" in caplog.text
    assert "answers again" in caplog.text


def test_a_scheduler_that_stays_away_ends_the_sweep_and_the_same_call_resumes(
    tmp_path: Path, shared: Cluster
) -> None:
    sweep = files(tmp_path, seeds=60, size="4 MB")
    expected = local(sweep)
    out = tmp_path / "dask.parquet"
    with cluster(tmp_path / "cluster", 2) as made, client_of(made, timeout=3) as client:

        def kill() -> None:
            wait_for_rows(out, 20_000)
            made.kill_scheduler()

        thread = threading.Thread(target=kill)
        thread.start()
        with pytest.raises(cluster_of.ClusterError, match="is lost") as lost:
            byway.sweep(sweep, out=out, client=client, chunk_seconds=0.2)
        thread.join()
    assert "runs are kept in" in lost.value.__notes__[0]
    assert "the same call resumes" in lost.value.__notes__[0]
    runs = []
    with client_of(shared) as client:
        cluster_of.sweep(
            byway.plan(sweep), out, client=client, found=lambda n, torn: runs.append(n)
        )
    assert runs[0] > 10
    assert out.read_bytes() == expected


def other_build(folder: Path) -> Path:
    """The package once more with another compiled part, as another wheel has it."""
    package = Path(str(byway.__file__)).parent
    shutil.copytree(package, folder / "byway")
    compiled = next((folder / "byway").glob("_native*.so"))
    # What is behind the end of a shared object is not loaded.
    with compiled.open("ab") as file:
        file.write(b"another build")
    return folder


def test_a_worker_with_another_byway_is_refused_by_name(
    tmp_path: Path, small: tuple[Path, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    sweep, expected = small
    out = tmp_path / "dask.parquet"
    other = other_build(tmp_path / "other")
    with cluster(tmp_path / "cluster", 0) as made, client_of(made) as client:
        made.start_worker(path=other)
        client.wait_for_workers(1, timeout=60)
        (old,) = client.nthreads()
        with pytest.raises(cluster_of.ClusterError) as refused:
            byway.sweep(sweep, out=out, client=client)
        words = str(refused.value)
        assert f"{old}: has byway {byway.__version__} (" in words
        assert cluster_of.build() in words
        made.start_worker()
        client.wait_for_workers(2, timeout=60)
        caplog.clear()
        with caplog.at_level(logging.WARNING, "byway.dask"):
            byway.sweep(sweep, out=out, client=client, chunk_seconds=0.1)
    assert f"worker {old} is refused" in caplog.text
    assert out.read_bytes() == expected


def test_a_worker_without_byway_is_refused_by_name(
    tmp_path: Path, small: tuple[Path, bytes]
) -> None:
    package = tmp_path / "other" / "byway"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('there is none')\n")
    with cluster(tmp_path / "cluster", 0) as made, client_of(made) as client:
        made.start_worker(path=tmp_path / "other")
        client.wait_for_workers(1, timeout=60)
        (bare,) = client.nthreads()
        with pytest.raises(cluster_of.ClusterError) as refused:
            byway.sweep(small[0], out=tmp_path / "x.parquet", client=client)
    assert f"{bare}: has no byway that can be used: there is none" in str(refused.value)


def test_chunks_that_fail_one_after_the_other_end_the_sweep(
    tmp_path: Path, small: tuple[Path, bytes]
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(
        "import byway.dask\n"
        "def _run_chunk(packed, chunk): raise RuntimeError('out of order')\n"
        "byway.dask._run_chunk = _run_chunk\n"
    )
    out = tmp_path / "x.parquet"
    with cluster(tmp_path / "cluster", 0) as made, client_of(made) as client:
        made.start_worker(preload=broken)
        with pytest.raises(cluster_of.ClusterError) as ended:
            byway.sweep(small[0], out=out, client=client)
    words = str(ended.value)
    assert words.startswith(f"{cluster_of.FAILURES} chunks failed one after the other, the last")
    assert "RuntimeError: out of order" in words
    assert ended.value.__notes__[0].startswith("0 of ")


def test_a_worker_that_answers_what_was_not_asked_for_is_refused_by_name(
    tmp_path: Path, small: tuple[Path, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    sweep, expected = small
    out = tmp_path / "dask.parquet"
    liar = tmp_path / "liar.py"
    liar.write_text(
        "import byway.dask\n"
        # Dask runs this file twice.
        "true = getattr(byway.dask, '_true', byway.dask._worker_of)\n"
        "byway.dask._true = true\n"
        "class Lies:\n"
        "    def __init__(self, worker): self.worker = worker\n"
        "    def run(self, chunk):\n"
        "        rows = bytearray(self.worker.run(chunk))\n"
        "        rows[-3] ^= 1\n"
        "        return bytes(rows)\n"
        "byway.dask._worker_of = lambda packed: Lies(true(packed))\n"
    )
    with cluster(tmp_path / "cluster", 1) as made, client_of(made) as client:
        made.start_worker(preload=liar)
        client.wait_for_workers(2, timeout=60)
        with caplog.at_level(logging.WARNING, "byway.dask"):
            byway.sweep(sweep, out=out, client=client, chunk_seconds=0.1)
    assert "is refused: it answered what was not asked for" in caplog.text
    assert "damaged" in caplog.text
    assert out.read_bytes() == expected


def test_a_run_that_kills_its_workers_is_named(
    tmp_path: Path, small: tuple[Path, bytes]
) -> None:
    sweep, _ = small
    deadly = tmp_path / "deadly.py"
    deadly.write_text(
        "import json, os, byway.dask\n"
        # Dask runs this file twice.
        "true = getattr(byway.dask, '_true', byway.dask._worker_of)\n"
        "byway.dask._true = true\n"
        "class Deadly:\n"
        "    def __init__(self, worker): self.worker = worker\n"
        "    def run(self, chunk):\n"
        # Cell 3, seed 5.
        "        runs = json.loads(chunk[chunk.index(b'{\"'):])['runs']\n"
        "        if any(c == 2 and r['start'] <= 4 < r['end'] for c, r in runs):\n"
        "            os._exit(9)\n"
        "        return self.worker.run(chunk)\n"
        "byway.dask._worker_of = lambda packed: Deadly(true(packed))\n"
    )
    with cluster(tmp_path / "cluster", 0, allowed_failures=0) as made, client_of(made) as client:
        for _ in range(3):
            made.start_worker(nanny=True, preload=deadly)
        with pytest.raises(cluster_of.ClusterError) as named:
            byway.sweep(sweep, out=tmp_path / "x.parquet", client=client, chunk_seconds=0.1)
    assert "the run of cell 3 with seed 5 ends the workers that do it: 4 died" in str(named.value)


def test_a_worker_that_dies_while_it_is_asked_is_asked_anew(
    tmp_path: Path, small: tuple[Path, bytes]
) -> None:
    sweep, expected = small
    mortal = tmp_path / "mortal.py"
    mortal.write_text(
        "import os, byway.dask\n"
        f"mark = {str(tmp_path / 'died')!r}\n"
        "true = getattr(byway.dask, '_build', byway.dask.build)\n"
        "byway.dask._build = true\n"
        "def build():\n"
        "    if not os.path.exists(mark):\n"
        "        open(mark, 'w').close()\n"
        "        os._exit(9)\n"
        "    return true()\n"
        "byway.dask.build = build\n"
    )
    out = tmp_path / "x.parquet"
    with cluster(tmp_path / "cluster", 0, allowed_failures=0) as made, client_of(made) as client:
        made.start_worker(nanny=True, preload=mortal)
        byway.sweep(sweep, out=out, client=client)
    assert (tmp_path / "died").exists()
    assert out.read_bytes() == expected


def test_the_command_says_the_same_as_on_one_machine(
    tmp_path: Path, shared: Cluster, small: tuple[Path, bytes]
) -> None:
    sweep, expected = small
    out = tmp_path / "x.parquet"
    process = start(shared, sweep, out)
    printed, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert out.read_bytes() == expected
    again = subprocess.run([command(), "sweep", str(sweep), "--out", str(out)],
                           check=True, capture_output=True, text=True)  # fmt: skip
    assert again.stdout == printed
    process = start(shared, sweep, out)
    twice, said = process.communicate(timeout=60)
    assert (twice, process.returncode) == (printed, 0)
    assert said == again.stderr


@pytest.mark.parametrize(
    ("ending", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_what_is_interrupted_goes_on_there_or_here(
    tmp_path: Path, shared: Cluster, ending: signal.Signals, status: int
) -> None:
    sweep = files(tmp_path, seeds=60, size="4 MB")
    expected = local(sweep)
    out = tmp_path / "x.parquet"
    process = start(shared, sweep, out)
    wait_for_rows(out, 10_000, process)
    process.send_signal(ending)
    _, said = process.communicate(timeout=30)
    assert process.returncode == status
    if ending != signal.SIGKILL:
        assert said.startswith("byway: interrupted\n"), said
        assert f"runs are kept in {journal_path(out)}" in said
    # A killed one leaves its chunks to Dask, which sees that it is gone.
    if ending == signal.SIGTERM:
        args = [command(), "sweep", str(sweep), "--out", str(out)]
        went_on = subprocess.run(args, capture_output=True, text=True)
    else:
        process = start(shared, sweep, out)
        went_on = subprocess.CompletedProcess([], 0, *process.communicate(timeout=60))
        went_on.returncode = process.returncode
    assert went_on.returncode == 0
    assert "going on after" in went_on.stderr
    assert out.read_bytes() == expected


def test_one_journal_has_one_writer(
    tmp_path: Path, shared: Cluster, small: tuple[Path, bytes]
) -> None:
    sweep, expected = small
    out = tmp_path / "x.parquet"
    first = ChunkDealer(byway.plan(sweep), out, cluster_of.build(), False)
    process = start(shared, sweep, out)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    busy = "another sweep is writing it; wait for its end, or choose another --out"
    assert busy in said
    with client_of(shared) as client, pytest.raises(byway.StoreError, match="another sweep"):
        byway.sweep(sweep, out=out, client=client)
    here = subprocess.run([command(), "sweep", str(sweep), "--out", str(out)],
                          capture_output=True, text=True)  # fmt: skip
    assert busy in here.stderr
    first.close()
    with client_of(shared) as client:
        byway.sweep(sweep, out=out, client=client)
    assert out.read_bytes() == expected


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("seeds = 12", "seed = 12"),
        lambda text: text.replace("0 %", "0 pc"),
        lambda text: text.replace("rto.min", "rto.mim"),
        lambda text: text.replace("scenario.toml", "nowhere.toml"),
        lambda text: text.replace("[[axis]]", "[[axis"),
    ],
)
def test_mistakes_are_said_in_the_words_of_the_command(
    tmp_path: Path, shared: Cluster, change: Callable[[str], str]
) -> None:
    sweep = files(tmp_path, seeds=12)
    sweep.write_text(change(sweep.read_text()))
    said = subprocess.run([command(), "sweep", str(sweep)], capture_output=True, text=True)
    assert said.returncode == 2
    with client_of(shared) as client, pytest.raises(byway.SweepError) as raised:
        byway.sweep(sweep, out=tmp_path / "x.parquet", client=client)
    assert f"byway: {raised.value}".rstrip() == said.stderr.rstrip()
    assert str(sweep) in str(raised.value) or "nowhere.toml" in str(raised.value)
    assert not (tmp_path / "x.parquet.journal").exists()


def test_chunk_seconds_that_make_no_sense(small: tuple[Path, bytes], tmp_path: Path) -> None:
    wrong: list[Any] = [0, -1, float("nan"), 1e9, "2", None, True]
    for seconds in wrong:
        nobody: Any = object()
        with pytest.raises(byway.SettingError, match="chunk_seconds: found"):
            byway.sweep(small[0], out=tmp_path / "x", client=nobody, chunk_seconds=seconds)


def test_answers_are_checked_where_they_come(tmp_path: Path, small: tuple[Path, bytes]) -> None:
    plan = byway.plan(small[0])
    dealer = ChunkDealer(plan, tmp_path / "x.parquet", "b", False)
    worker = ChunkWorker(describe_plan(plan, "b"), "b")
    chunk = dealer.next(0.1, 1)
    assert chunk is not None
    number, runs, asked = chunk
    rows = worker.run(asked)
    for bad in (b"", b"byway", rows[:-1], rows + b"x", rows.replace(b"{", b"[", 1)):
        with pytest.raises(ValueError, match=f"chunk {number}"):
            dealer.take(number, bad)
    assert dealer.progress()[0] == 0
    assert dealer.take(number, rows)
    assert dealer.progress()[0] == runs
    with pytest.raises(ValueError, match=r"this worker has c, the sweep was begun by b;"):
        ChunkWorker(describe_plan(plan, "b"), "c")


def test_a_full_disk_leaves_the_journal_whole(tmp_path: Path, shared: Cluster) -> None:
    sweep = files(tmp_path, seeds=60)
    expected = local(sweep)
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small disk can be mounted by root alone")
    try:
        out = disk / "x.parquet"
        with client_of(shared) as client, pytest.raises(byway.StoreError) as full:
            byway.sweep(sweep, out=out, client=client)
        assert "No space left on device" in str(full.value)
        assert f"runs are kept in {journal_path(out)}" in full.value.__notes__[0]
        # Room for all rows, which are of one length, and none for the results.
        kept, all_runs = (int(n) for n in full.value.__notes__[0].split(" runs ")[0].split(" of "))
        room = 8192 + (64 << 10) * all_runs // kept
        subprocess.run(["mount", "-o", f"remount,size={room}", str(disk)], check=True)
        with client_of(shared) as client, pytest.raises(byway.StoreError) as full:
            byway.sweep(sweep, out=out, client=client)
        assert f"cannot write {out}: No space left on device" in str(full.value)
        assert f"all runs are kept in {journal_path(out)}" in full.value.__notes__[0]
        subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
        process = start(shared, sweep, out)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
        kept = int(said.split("going on after ")[1].split()[0])
        assert kept == all_runs
        assert out.read_bytes() == expected
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("nonsense", "missing port number in address 'nonsense'"),
        ("http://10.0.0.1:80", "unknown address scheme 'http'"),
        ("tcp://10.0.0.1", "missing port number in address '10.0.0.1'"),
    ],
)
def test_what_is_no_address_is_refused_at_once(tmp_path: Path, address: str, why: str) -> None:
    environment = {**os.environ, "BYWAY_PYTHON": sys.executable}
    args = [command(), "sweep", str(files(tmp_path)), "--dask", address]
    done = subprocess.run(args, env=environment, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert f"--dask {address}: {why}" in done.stderr
    assert "expected such as tcp://10.0.0.1:8786" in done.stderr


def test_a_worker_that_stands_still_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(byway.dask, "SILENT_SECONDS", 3.0)
    sweep = files(tmp_path, seeds=60, size="4 MB")
    expected = local(sweep)
    out = tmp_path / "x.parquet"
    with cluster(tmp_path / "cluster", 2) as made, client_of(made) as client:
        frozen = made.workers[0]
        stopped: list[int] = []

        def stop(done: int, most: int) -> None:
            if done > most // 10 and not stopped:
                os.kill(frozen.pid, signal.SIGSTOP)
                stopped.append(done)

        try:
            byway.sweep(sweep, out=out, client=client, progress=stop)
        finally:
            os.kill(frozen.pid, signal.SIGCONT)
    assert stopped
    assert "was not heard for 3 s; chunks that are dealt out again: " in caplog.text
    assert "dealt out again: 0" not in caplog.text
    assert out.read_bytes() == expected


def test_no_copy_is_the_results_nor_those_of_another_store(
    small: tuple[Path, bytes], shared: Cluster, tmp_path: Path
) -> None:
    """Neither with the journal in the folder of the results, nor with two stores' like names."""
    sweep, expected = small
    beside = tmp_path / "results.parquet"
    with client_of(shared) as client:
        for _ in range(2):
            byway.sweep(sweep, out=beside, journal=tmp_path, client=client)
            assert beside.read_bytes() == expected
        for store in ("a", "b"):
            there = tmp_path / store / "results.parquet"
            byway.sweep(sweep, out=f"local://{there}", journal=tmp_path, client=client)
            assert there.read_bytes() == expected
            assert beside.read_bytes() == expected
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b", "results.parquet"]


@pytest.mark.parametrize("url", ["memory://", "memory://folder/"])
def test_a_folder_of_a_store_is_refused(url: str, shared: Cluster, tmp_path: Path) -> None:
    with client_of(shared) as client, pytest.raises(byway.StoreError) as wrong:
        byway.sweep(files(tmp_path), out=url, journal=tmp_path, client=client)
    assert f"{url}: this is a folder, and no file; name the file" in str(wrong.value)


def test_a_store_that_does_not_answer_is_found_before_anything_is_run(
    shared: Cluster, tmp_path: Path
) -> None:
    ran: list[int] = []
    with client_of(shared) as client, pytest.raises(byway.StoreError) as wrong:
        byway.sweep(
            files(tmp_path), out="http://127.0.0.1:1/x.parquet", journal=tmp_path, client=client,
            progress=lambda done, _: ran.append(done),
        )  # fmt: skip
    assert "cannot read http://127.0.0.1:1/x.parquet: " in str(wrong.value)
    assert not any(ran)


def test_the_command_takes_no_package_from_the_current_folder(
    small: tuple[Path, bytes], shared: Cluster, tmp_path: Path
) -> None:
    """As in `python/` of the source tree, where byway is not compiled."""
    sweep, expected = small
    (tmp_path / "byway").mkdir()
    (tmp_path / "byway/__init__.py").write_text("raise ModuleNotFoundError(name='byway._native')")
    out = tmp_path / "x.parquet"
    process = start(shared, sweep, out, folder=tmp_path)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert out.read_bytes() == expected


def test_results_in_memory_and_from_a_dictionary(shared: Cluster) -> None:
    axes = {"path.1.loss": ["0 %", "3 %"]}
    scenario = {
        "limit": "60 s",
        "path": [{"rate": "10 Mbit/s", "delay": "20 ms"}] * 2,
        "traffic": {"kind": "bulk", "size": "200 kB"},
        "policy": [{"name": "today"}],
    }
    with client_of(shared) as client:
        there = byway.sweep(scenario, axes=axes, seeds=5, client=client)
    here = byway.sweep(scenario, axes=axes, seeds=5)
    assert len(there) == 10
    assert there.summary() == here.summary()
    assert there.to_toml() == here.to_toml() != ""
    assert there.to_pandas().equals(here.to_pandas())
    assert there.run(7)[0].digest == here.run(7)[0].digest


@pytest.mark.parametrize("url", ["memory://results/{}/x.parquet", "file://{}/shared/x.parquet"])
def test_results_come_to_any_store(
    tmp_path: Path, shared: Cluster, small: tuple[Path, bytes], url: str
) -> None:
    import fsspec

    sweep, expected = small
    out = url.format(str(tmp_path).removeprefix("/") if "memory" in url else tmp_path)
    with client_of(shared) as client:
        byway.sweep(sweep, out=out, client=client, journal=tmp_path / "journal")
    with fsspec.open(out) as file:
        assert file.read() == expected
    assert list((tmp_path / "journal").iterdir()) == []
    filesystem, path = fsspec.core.url_to_fs(out)
    assert len(filesystem.ls(filesystem._parent(path))) == 1, "nothing is left beside it"


def test_a_place_that_is_no_file_is_refused_before_anything_is_run(
    tmp_path: Path, shared: Cluster, small: tuple[Path, bytes]
) -> None:
    pipe = tmp_path / "pipe.parquet"
    os.mkfifo(pipe)
    ways: list[dict[str, Any]] = [
        {"out": pipe},
        {"out": pipe, "restart": True},
        {"out": f"file://{pipe}"},
        {"out": pipe, "journal": tmp_path / "journal"},
        {"out": f"file://{pipe}", "journal": tmp_path / "journal", "restart": True},
    ]
    with client_of(shared) as client:
        for way in ways:
            with pytest.raises(byway.StoreError, match="this is a device or a pipe"):
                byway.sweep(small[0], client=client, **way)
    assert pipe.is_fifo()


def test_what_is_no_client_is_refused(small: tuple[Path, bytes], shared: Cluster) -> None:
    for nobody in ("tcp://127.0.0.1:8786", 0, object()):
        given: Any = nobody
        with pytest.raises(byway.SettingError, match="client: found .*expected a distributed"):
            byway.sweep(small[0], client=given)
    with client_of(shared) as client:
        pass
    with pytest.raises(cluster_of.ClusterError, match="the client is closed"):
        byway.sweep(small[0], client=client)
    for what in ("journal", "storage_options"):
        more: Any = {what: {}}
        with pytest.raises(byway.SettingError, match=f"{what}: is for a sweep on a cluster"):
            byway.sweep(small[0], **more)


class Store:
    """An object store as a process of its own, that keeps nothing when it ends."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.options = {
            "key": "nobody",
            "secret": "nothing",
            "endpoint_url": f"http://127.0.0.1:{port}",
            "config_kwargs": {"retries": {"max_attempts": 1}, "connect_timeout": 2},
        }

    def make(self, bucket: str) -> None:
        import s3fs

        end = time.monotonic() + 60
        while True:
            try:
                s3fs.S3FileSystem(**self.options, skip_instance_cache=True).mkdir(bucket)
                return
            except Exception:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def test_a_lost_object_store_leaves_the_journal_whole(
    tmp_path: Path, shared: Cluster, small: tuple[Path, bytes]
) -> None:
    pytest.importorskip("moto.server", reason="byway[test] is not installed")
    s3fs = pytest.importorskip("s3fs")
    from cluster import free_port

    sweep, expected = small
    out = "s3://results/grid/x.parquet"
    folder = tmp_path / "journal"
    store = Store(free_port())
    try:
        store.make("results")
        with client_of(shared) as client:

            def run(progress: Any = None) -> None:
                byway.sweep(
                    sweep, out=out, client=client, journal=folder, chunk_seconds=0.1,
                    storage_options=store.options, progress=progress,
                )  # fmt: skip

            def lose(done: int, most: int) -> None:
                if done == most:
                    store.close()

            with pytest.raises(byway.StoreError) as lost:
                run(lose)
            assert f"cannot write {out}: " in str(lost.value)
            copy = next(folder.glob("x-*.parquet"))
            assert f"the results are in {copy}" in str(lost.value)
            assert Path(journal_path(copy)).stat().st_size > 50_000
            # A store that does not answer is seen before anything is run.
            copy.rename(tmp_path / "kept")
            with pytest.raises(byway.StoreError, match=f"cannot read {out}"):
                run()
            (tmp_path / "kept").rename(copy)
            store = Store(store.port)
            store.make("results")
            counted: list[int] = []
            run(lambda done, most: counted.append(done))
            assert counted == [], "nothing is run again"
            there = s3fs.S3FileSystem(**store.options, skip_instance_cache=True)
            assert there.cat_file(out) == expected
            assert list(folder.iterdir()) == []
            # The same sweep again takes what is there; another one is refused.
            run()
            other = files(tmp_path / "other", seeds=2)
            with pytest.raises(byway.StoreError, match="holds the results of another sweep"):
                byway.sweep(
                    other, out=out, client=client, journal=tmp_path / "j2",
                    storage_options=store.options,
                )  # fmt: skip
    finally:
        store.close()


def test_a_store_that_needs_a_missing_package(
    tmp_path: Path, small: tuple[Path, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody: Any = object()
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(byway.MissingPackage, match="gcsfs"):
        byway.sweep(small[0], out="gs://results/x.parquet", client=nobody)
    with pytest.raises(byway.StoreError, match="cannot use nowhere://x.parquet"):
        byway.sweep(small[0], out="nowhere://x.parquet", client=nobody)
