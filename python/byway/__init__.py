"""Multihomed SCTP in a simulator: failover runs, sweeps and the papers' claims."""

from ._native import __version__, run_json

__all__ = ["__version__", "run_json"]
