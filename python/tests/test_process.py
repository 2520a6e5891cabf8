"""What needs a process of its own: signals, forks, ends in the middle of a run, full disks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import byway

PRELUDE = """
import os, signal, sys, threading, time
sys.path.insert(0, {tests!r})
import byway
from conftest import LONG, SMALL
"""


def start(code: str) -> subprocess.Popen[str]:
    """Starts a Python process with this program."""
    text = PRELUDE.format(tests=str(Path(__file__).parent)) + textwrap.dedent(code)
    return subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def interrupted(code: str) -> tuple[float, int, str, str]:
    """Sends SIGINT once the program has printed a line; how long it then took to end."""
    process = start(code)
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n", process.communicate()[1]
    time.sleep(0.4)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=30)
    return time.monotonic() - began, process.returncode, out, error


# Written at the start of the work, by progress or by a rule.
RUN = "byway.run(LONG, progress=lambda d, m: None)"
RULE = """
    byway.run({**LONG, "path": [{**p, "loss": "1 %"} for p in LONG["path"]]},
        decider=byway.policy.retransmission_target(lambda view: None))
"""
ENDLESS_RULE = """
    def endless(view):
        while True: pass
    byway.run({**LONG, "path": [{**p, "loss": "1 %"} for p in LONG["path"]]},
        decider=byway.policy.retransmission_target(endless))
"""


@pytest.mark.parametrize(
    "work",
    [RUN, "byway.sweep(LONG, axes={'path.1.loss': ['0 %']}, seeds=4)", RULE, ENDLESS_RULE,
     "byway.reproduce(full=True)"],
    ids=["run", "sweep", "rule", "endless rule", "reproduce"],
)  # fmt: skip
def test_control_c_ends_the_work_as_keyboard_interrupt(work: str) -> None:
    program = f"""
try:
    print("go", flush=True)
    {work.strip()}
except KeyboardInterrupt:
    print("stopped")
"""
    _, code, out, error = interrupted(program)
    # Work that went on would not say that. A clock only ends a test that hangs, after 30 s: how long the end
    # takes depends on who else uses the processors.
    assert (code, out) == (0, "stopped\n"), error


def test_control_c_keeps_the_journal_and_the_same_call_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "grid.parquet"
    program = f"""
    def told(done, most):
        if done >= 5 and not said:
            said.append(1)
            print("go", flush=True)
    said = []
    scenario = {{**SMALL, "traffic": {{"kind": "bulk", "size": "20 MB"}}}}
    try:
        byway.sweep(scenario, axes={{"path.*.loss": ["0 %", "1 %"]}}, seeds=4000,
            out={str(out)!r}, progress=told)
    except KeyboardInterrupt as error:
        print(error.__notes__[0])
    """
    took, code, said, error = interrupted(program)
    assert code == 0, error
    assert "runs are kept in" in said and "the same call resumes" in said, said
    journal = tmp_path / "grid.parquet.journal"
    assert journal.exists() and not out.exists()
    kept = int(said.split()[0])
    assert kept >= 5
    # The command that goes on with it is this package, too; it must not begin again.
    seen: list[int] = []

    class Enough(Exception):
        pass

    def told(done: int, most: int) -> None:
        seen.append(done)
        raise Enough

    from conftest import SMALL

    scenario = {**SMALL, "traffic": {"kind": "bulk", "size": "20 MB"}}
    with pytest.raises(Enough):
        byway.sweep(
            scenario, axes={"path.*.loss": ["0 %", "1 %"]}, seeds=4000, out=out, progress=told
        )
    assert seen[0] >= kept


def test_a_fork_may_run_byway_after_its_parent_did() -> None:
    process = start("""
    first = byway.run(SMALL)[0].digest
    child = os.fork()
    if child == 0:
        same = byway.run(SMALL)[0].digest == first
        rows = len(byway.sweep(SMALL, axes={"path.1.loss": ["0 %", "1 %"]}, seeds=2))
        os._exit(0 if same and rows == 4 else 1)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            print(os.waitstatus_to_exitcode(status))
            break
        time.sleep(0.05)
    else:
        os.kill(child, signal.SIGKILL)
        print("hung")
    """)
    out, error = process.communicate(timeout=60)
    assert out == "0\n", (out, error)


@pytest.mark.parametrize(
    "arguments",
    ["LONG", "{**LONG, 'path': [{**p, 'loss': '1 %'} for p in LONG['path']]}, "
     "decider=byway.policy.retransmission_target(lambda view: None)"],
    ids=["run", "rule"],
)  # fmt: skip
def test_the_interpreter_may_end_in_the_middle_of_a_run(arguments: str) -> None:
    process = start(f"""
    thread = threading.Thread(target=lambda: byway.run({arguments}), daemon=True)
    thread.start()
    time.sleep(0.5)
    print("end")
    """)
    out, error = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "end\n"), error


def test_sys_exit_in_a_rule_ends_the_program() -> None:
    process = start("""
    byway.run(decider=byway.policy.retransmission_target(lambda view: sys.exit(7)))
    """)
    process.communicate(timeout=30)
    assert process.returncode == 7


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")


@needs_root
def test_a_full_disk_leaves_the_journal_whole(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk]).returncode != 0:
        pytest.skip("no tmpfs can be mounted here")
    from conftest import SMALL

    axes = {"path.*.loss": ["0 %", "3 %"]}
    try:
        with pytest.raises(byway.StoreError) as caught:
            byway.sweep(SMALL, axes=axes, seeds=400, out=disk / "grid.parquet")
        assert caught.value.errno == 28, str(caught.value)
        assert "runs are kept in" in str(caught.value)
        journal = disk / "grid.parquet.journal"
        assert journal.exists()
        elsewhere = tmp_path / "grid.parquet"
        (tmp_path / "grid.parquet.journal").write_bytes(journal.read_bytes())
    finally:
        subprocess.run(["umount", disk], check=True)
    seen: list[int] = []
    results = byway.sweep(
        SMALL, axes=axes, seeds=400, out=elsewhere, progress=lambda done, most: seen.append(done)
    )
    assert len(results) == 800 and seen[0] > 0
    fresh = byway.sweep(SMALL, axes=axes, seeds=400)
    same = results.columns["metrics"]["transfer_s"] == fresh.columns["metrics"]["transfer_s"]
    assert same.all()
