"""A real Dask cluster for tests: one process for the scheduler, one for each worker."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

HOST = "127.0.0.1"
PATIENCE = 60.0


def free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


class Cluster:
    """Processes that are gone after the test."""

    def __init__(self, folder: Path, *, allowed_failures: int | None = None) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.address = f"tcp://{HOST}:{self.port}"
        self.environment = {
            **os.environ,
            "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "null",
        }
        if allowed_failures is not None:
            name = "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"
            self.environment[name] = str(allowed_failures)
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self.started = 0

    def _start(self, name: str, *args: str, path: Path | None = None) -> subprocess.Popen[bytes]:
        environment = dict(self.environment)
        if path is not None:
            environment["PYTHONPATH"] = str(path)
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *args],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=environment,
            )

    def start_scheduler(self) -> None:
        self.started += 1
        self.scheduler = self._start(
            f"scheduler{self.started}", "scheduler", "--host", HOST, "--port", str(self.port),
            "--no-dashboard", "--no-show",
        )
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection((HOST, self.port), 1):
                return
            time.sleep(0.05)
        raise TimeoutError("the scheduler does not start")

    def start_worker(
        self, *, nanny: bool = False, preload: Path | None = None, path: Path | None = None
    ) -> subprocess.Popen[bytes]:
        self.started += 1
        args = ["worker", self.address, "--nthreads", "1", "--no-dashboard", "--host", HOST]
        args += ["--nanny" if nanny else "--no-nanny", "--memory-limit", "0"]
        args += ["--local-directory", str(self.folder)]
        if preload is not None:
            args += ["--preload", str(preload)]
        worker = self._start(f"worker{self.started}", *args, path=path)
        self.workers.append(worker)
        return worker

    def kill_worker(self, worker: subprocess.Popen[bytes]) -> None:
        """Kills it as a machine does that loses its power."""
        self.workers.remove(worker)
        end_all(worker)

    def kill_child(self, nanny: subprocess.Popen[bytes]) -> bool:
        """Kills the worker of a nanny, which starts another one."""
        for child in psutil.Process(nanny.pid).children():
            if "spawn_main" in " ".join(child.cmdline()):
                child.kill()
                return True
        return False

    def kill_scheduler(self) -> None:
        assert self.scheduler is not None
        end_all(self.scheduler)
        self.scheduler = None

    def logs(self) -> str:
        return "\n".join(
            f"== {log.name}\n{log.read_text(errors='replace')[-2000:]}"
            for log in sorted(self.folder.glob("*.log"))
        )

    def close(self) -> None:
        for worker in self.workers:
            end_all(worker)
        self.workers = []
        if self.scheduler is not None:
            self.kill_scheduler()


def end_all(process: subprocess.Popen[bytes]) -> None:
    """Kills a process and those that it started."""
    family = []
    with contextlib.suppress(psutil.NoSuchProcess):
        family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGKILL)
    for child in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()
    process.wait()


@contextlib.contextmanager
def cluster(
    folder: Path, workers: int, *, nanny: bool = False, allowed_failures: int | None = None
) -> Iterator[Cluster]:
    made = Cluster(folder, allowed_failures=allowed_failures)
    try:
        made.start_scheduler()
        for _ in range(workers):
            made.start_worker(nanny=nanny)
        yield made
    finally:
        made.close()


def command() -> str:
    """The command ``byway``: ``BYWAY``, or that of the source tree, built if need be."""
    named = os.environ.get("BYWAY")
    if named:
        return named
    tree = Path(__file__).resolve().parents[2]
    target = Path(os.environ.get("CARGO_TARGET_DIR", tree / "target"))
    built = target / "release" / "byway"
    if not built.exists():
        cargo = shutil.which("cargo")
        assert cargo, f"{built} is not there, and there is no cargo to build it"
        subprocess.run([cargo, "build", "--release", "-p", "byway-cli"], cwd=tree, check=True)
    return str(built)
