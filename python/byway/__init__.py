"""Multihomed SCTP (RFC 9260) in a simulator: failover runs, sweeps and the papers' claims.

Everything here runs without a network. The same scenario and the same seed give the same
numbers as the command `byway`, to the last bit.

>>> import byway
>>> runs = byway.run(only=["RFC 9260", "probe timeout"])
>>> runs["RFC 9260"].stall.length_s
1.136176

Times are in seconds and their names end in `_s`; sizes are in bytes; rates end in `_bit_s`.
Values that are given have their unit in text, as in the command's files: `"45 ms"`,
`"10 Mbit/s"`, `"8 MiB"`, `"1 %"`.
"""

from . import errors, policy
from ._advise import Advice, advise
from ._native import Scenario, __version__
from ._papers import Claim, FailoverTime, Reproduction, failover_time, reproduce
from ._run import STATES, Comparison, Result, check, run, scenario, settings, to_toml
from ._sweep import SweepComparison, SweepResults, compare, metrics, plan, read_results, sweep
from .errors import (
    AssociationLost,
    Error,
    InputError,
    MissingPackage,
    Problem,
    RunError,
    ScenarioError,
    SettingError,
    StoreError,
    SweepError,
)

__all__ = [
    "STATES",
    "Advice",
    "AssociationLost",
    "Claim",
    "Comparison",
    "Error",
    "FailoverTime",
    "InputError",
    "MissingPackage",
    "Problem",
    "Reproduction",
    "Result",
    "RunError",
    "Scenario",
    "ScenarioError",
    "SettingError",
    "StoreError",
    "SweepComparison",
    "SweepError",
    "SweepResults",
    "__version__",
    "advise",
    "check",
    "compare",
    "errors",
    "failover_time",
    "metrics",
    "plan",
    "policy",
    "read_results",
    "reproduce",
    "run",
    "scenario",
    "settings",
    "sweep",
    "to_toml",
]
