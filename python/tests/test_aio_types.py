"""The types of byway.aio, as mypy sees them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from byway import _native

PYTHON = Path(__file__).parent.parent


def test_the_examples_are_strictly_typed() -> None:
    pytest.importorskip("mypy")
    files = ["examples/send_file.py", "examples/recv_file.py", "bench/aio_throughput.py"]
    # byway itself is checked on its own; here it says what its users see.
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", *files]
    done = subprocess.run(command, cwd=PYTHON, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stubs_name_what_there_is() -> None:
    stub = (PYTHON / "byway/_native.pyi").read_text()
    names: dict[str, list[str]] = {}
    for line in stub.split("# --- byway.aio ---")[1].splitlines():
        if line.startswith("class "):
            names[line[6:].rstrip(".: ")] = []
        elif line.startswith("def "):
            assert callable(getattr(_native, line[4 : line.index("(")]))
        elif line.strip().startswith("def ") and line.startswith("    "):
            list(names.values())[-1].append(line.strip()[4:].split("(")[0])
    assert {"Endpoint", "Association", "Message"} <= names.keys()
    for kind, methods in names.items():
        there = {n for n in vars(getattr(_native, kind)) if not n.startswith("__")}
        assert there == {m for m in methods if not m.startswith("__")}, kind
