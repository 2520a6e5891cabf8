"""The stubs of byway.aio. That its examples are strictly typed is seen by `.ci/run python`, with all other types."""

from __future__ import annotations

from pathlib import Path

from byway import _native

PYTHON = Path(__file__).parent.parent


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
