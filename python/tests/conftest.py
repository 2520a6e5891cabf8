"""What several tests share."""

from __future__ import annotations

from typing import Any

import pytest

SMALL: dict[str, Any] = {
    "name": "small",
    "limit": "60 s",
    "path": [
        {"name": "first", "rate": "10 Mbit/s", "delay": "45 ms"},
        {"name": "second", "rate": "10 Mbit/s", "delay": "45 ms"},
    ],
    "event": [{"at": "400 ms", "path": "first", "do": "down"}],
    "traffic": {"kind": "bulk", "size": "256 KiB"},
}
"""A transfer whose primary dies."""

# Hours of simulated time, so that something can happen meanwhile.
LONG: dict[str, Any] = {
    **SMALL,
    "limit": "2000 h",
    "event": [],
    "traffic": {"kind": "bulk", "size": "900 GB"},
}


@pytest.fixture
def small() -> dict[str, Any]:
    """A transfer whose primary dies."""
    return {**SMALL, "path": [dict(p) for p in SMALL["path"]]}
