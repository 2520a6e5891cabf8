"""Executes the tutorial as a reader would, in a folder of its own.

    python python/run_notebook.py [NOTEBOOK [EXECUTED]]

Ends with an error at the first cell that fails, or that plots and shows no picture. EXECUTED is where the notebook with its
results is written, for looking at.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def main() -> None:
    """Executes the notebook."""
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "tutorial.ipynb"
    notebook = nbformat.read(source, as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(notebook, timeout=240, resources={"metadata": {"path": folder}})
        client.execute()
    if len(sys.argv) > 2:
        nbformat.write(notebook, sys.argv[2])  # type: ignore[no-untyped-call]
    pictures = 0
    for cell in notebook.cells:
        shown = [output.get("data", {}) for output in cell.get("outputs", [])]
        drawn = sum("image/png" in data for data in shown)
        pictures += drawn
        last = cell.source.rsplit("\n", 1)[-1]
        if cell.cell_type == "code" and ".plot(" in last and drawn == 0:
            sys.exit(f"{source.name}: there is no picture below {last!r}")
    print(f"{source.name}: {len(notebook.cells)} cells, {pictures} pictures")


if __name__ == "__main__":
    main()
