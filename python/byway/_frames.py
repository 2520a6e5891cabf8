"""Packages that are only needed for some calls."""

from __future__ import annotations

import importlib
from types import ModuleType

from .errors import MissingPackage


def need(package: str, extra: str, call: str) -> ModuleType:
    """Imports `package`, or says how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        name = package.partition(".")[0]
        raise MissingPackage(
            f"{call} needs {name}, which cannot be imported ({error}); "
            f"install it with: pip install {name} (or byway[{extra}])"
        ) from error
