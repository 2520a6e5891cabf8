"""The examples of the documents, and that everything says what it is."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import byway
from byway import _advise, _native, _papers, _run, _sweep, errors, policy

HERE = Path(__file__).resolve().parent
DOCUMENTS = [HERE.parent / "README.md", HERE.parents[1] / "docs" / "python.md"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_examples_of_the_documents_run(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not document.exists():
        pytest.skip("not in a clone of the repository")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", document.read_text(), re.M | re.S)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(document), "exec"), names)
    for name, value in re.findall(r"^(.*\S)\s+# (\d+\.\d+)", "\n".join(blocks), re.M):
        assert eval(name, names) == float(value), name


def test_the_error_of_the_page_is_what_is_said() -> None:
    page = DOCUMENTS[1].read_text()
    with pytest.raises(byway.ScenarioError) as caught:
        byway.run({"path": [{"rate": "1 Mbit/s", "delay": "1 ms"}],
                   "traffic": {"kind": "bulk", "size": 512}})  # fmt: skip
    assert str(caught.value) in page


@pytest.mark.parametrize("module", [byway, policy])
def test_the_examples_of_docstrings_run(module: ModuleType) -> None:
    failed, tried = doctest.testmod(module)
    assert tried >= 3 and failed == 0


def test_everything_public_says_what_it_is() -> None:
    silent = []
    for module in (byway, policy, errors, _run, _sweep, _papers, _advise):
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", "").split(".")[0] != "byway":
                continue
            if inspect.isfunction(thing) or inspect.isclass(thing):
                own = {n: m for n, m in vars(thing).items() if not n.startswith("_")}
                parts = [thing, *(m for m in own.values() if inspect.isfunction(m))]
                silent += [f"{name}: {p.__name__}" for p in parts if not inspect.getdoc(p)]
    assert silent == []


def test_everything_native_says_what_it_is() -> None:
    for name, thing in vars(_native).items():
        if not name.startswith("_"):
            assert inspect.getdoc(thing), name
