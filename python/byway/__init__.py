"""Multihomed SCTP in a simulator: failover runs, sweeps and the papers' claims."""

from .errors import Error, SettingError
from .net_errors import (
    AddressError,
    AssociationClosed,
    AssociationLost,
    ConnectFailed,
    EndpointClosed,
    SendRefused,
    WrongLoop,
    WrongProcess,
)
from ._native import __version__, run_json

__all__ = [
    "AddressError",
    "AssociationClosed",
    "AssociationLost",
    "ConnectFailed",
    "EndpointClosed",
    "Error",
    "SendRefused",
    "SettingError",
    "WrongLoop",
    "WrongProcess",
    "__version__",
    "run_json",
]
