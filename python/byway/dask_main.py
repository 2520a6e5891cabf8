"""The command ``python -m byway.dask``, which ``byway sweep --dask`` becomes."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from . import dask as cluster
from ._native import __version__
from ._sweep import plan
from .errors import Error, InputError

FAILED, WRONG, INTERRUPTED, TERMINATED = 1, 2, 130, 143
"""Exit statuses, as ``byway --help`` lists them."""


class _Terminated(BaseException):
    """A wish to terminate."""


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m byway.dask",
        description="Runs a sweep on the workers of a Dask scheduler.",
        allow_abbrev=False,
    )
    parser.add_argument("file", nargs="?", help="sweep file (TOML)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="such as tcp://10.0.0.1:8786")
    parser.add_argument("--out", metavar="PLACE", help="results: a file, or a URL such as s3://...")
    parser.add_argument("--journal", metavar="FOLDER", help="folder of the journal")
    parser.add_argument("--restart", action="store_true", help="throw away an earlier sweep")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument(
        "--chunk", metavar="SECONDS", type=float, default=cluster.CHUNK_SECONDS,
        help="how long the runs of a chunk take together [default: %(default)s]",
    )
    parser.add_argument("--version", action="version", version=__version__)
    args = parser.parse_args(argv)
    if args.file is None or args.scheduler is None:
        parser.error("a sweep file and --scheduler ADDRESS are needed")
    return args


class _Bar:
    """Progress on standard error, if that is a terminal."""

    def __init__(self, shown: bool) -> None:
        self.shown = shown and sys.stderr.isatty()
        self.begun = time.monotonic()
        self.drawn = 0.0
        self.first: int | None = None

    def __call__(self, done: int, most: int) -> None:
        now = time.monotonic()
        if self.first is None:
            self.first = done
        if not self.shown or now < self.begun + 2 or now < self.drawn + 0.2:
            return
        self.drawn = now
        spent = now - self.begun
        speed = (done - self.first) / spent
        left = f"{(most - done) / speed:.0f} s left" if speed > 0 else "..."
        filled = 30 * done // max(most, 1)
        bar = "=" * filled + " " * (30 - filled)
        line = f"[{bar}] {done} of {most} runs, {spent:.0f} s so far, {left}"
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()

    def clear(self) -> None:
        if self.drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """A wish to terminate ends the sweep as Ctrl-C does; a second one ends at once."""
    seen = 0

    def handle(number: int, _frame: object) -> NoReturn:
        nonlocal seen
        seen += 1
        if seen > 1:
            os._exit(INTERRUPTED if number == signal.SIGINT else TERMINATED)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise _Terminated

    before = [(s, signal.signal(s, handle)) for s in (signal.SIGINT, signal.SIGTERM)]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _fail(status: int, message: str) -> int:
    # The package names its arguments, the command its options.
    message = message.replace("restart=True", "--restart").replace(" out=", " --out")
    sys.stderr.write(f"byway: {message}\n")
    return status


def _check_address(address: str) -> None:
    """Raises ValueError for what is no address: Dask tries it for a minute."""
    from distributed.comm.addressing import (
        get_address_host,
        normalize_address,
        parse_address,
        parse_host_port,
    )

    whole = normalize_address(address)
    with contextlib.suppress(NotImplementedError):
        get_address_host(whole)
    scheme, place = parse_address(whole)
    if scheme != "inproc":
        parse_host_port(place)


def _notes(error: BaseException) -> str:
    return "".join(f"\n{note}" for note in getattr(error, "__notes__", []))


def main(argv: Sequence[str] | None = None) -> int:
    args = _arguments(argv)
    try:
        import distributed
    except ImportError:
        return _fail(FAILED, "Dask is not installed here: pip install 'byway[dask]'")
    logging.basicConfig(format="byway: %(message)s", level=logging.ERROR)
    logging.getLogger("byway").setLevel(logging.WARNING)
    for noisy in ("distributed", "tornado", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
    # A signal may come between a call of Dask and the task that was made for it.
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    try:
        _check_address(args.scheduler)
    except ValueError as error:
        return _fail(FAILED, f"--dask {args.scheduler}: {error}, expected such as tcp://10.0.0.1:8786")
    bar = _Bar(not args.json)
    try:
        with _signals():
            try:
                client = distributed.Client(args.scheduler, set_as_default=False)
            except (OSError, ValueError, TimeoutError) as error:
                why = str(error) or type(error).__name__
                return _fail(FAILED, f"cannot reach the scheduler {args.scheduler}: {why}")
            try:
                return _sweep(args, client, bar)
            finally:
                bar.clear()
                with contextlib.suppress(Exception):
                    client.close(timeout=2)
    except KeyboardInterrupt as error:
        return _fail(INTERRUPTED, "interrupted" + _notes(error))
    except _Terminated as error:
        return _fail(TERMINATED, "interrupted" + _notes(error))


def _sweep(args: argparse.Namespace, client: object, bar: _Bar) -> int:
    def found(runs: int, torn: int) -> None:
        if not args.json:
            words = f"going on after {runs} run{'' if runs == 1 else 's'}"
            if torn:
                words += f"; {torn} bytes of one that was cut short are dropped"
            sys.stderr.write(f"{words}\n")

    try:
        out = args.out or os.path.join("out", f"{Path(args.file).stem}.parquet")
        outcome = cluster.sweep(
            plan(Path(args.file)),
            out,
            client=client,  # type: ignore[arg-type]
            journal=args.journal,
            restart=args.restart,
            chunk_seconds=args.chunk,
            progress=bar,
            found=found,
        )
    except InputError as error:
        bar.clear()
        return _fail(WRONG, str(error) + _notes(error))
    except (Error, OSError) as error:
        bar.clear()
        return _fail(FAILED, str(error) + _notes(error))
    bar.clear()
    if args.json:
        print(outcome.summary())
        return 0
    if outcome.was_finished:
        sys.stderr.write(
            f"{outcome.place} has the results already; --restart runs the sweep again\n"
        )
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((80, 24)).columns if terminal else 80
    colour = terminal and "NO_COLOR" not in os.environ
    sys.stdout.write(outcome.text(width, colour))
    return 0
