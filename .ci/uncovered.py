#!/usr/bin/env python3
"""Compares what no test reaches with what docs/uncovered.txt explains: python3 .ci/uncovered.py REPORT

REPORT is the JSON of `cargo llvm-cov report --json`. Its uncovered regions count by file and function,
because lines move. Prints each that is not explained, with its code, and exits with status 1 if there is
one; prints explanations that nothing needs any more, too.
"""

import collections
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRATES = ("byway-core", "byway-wire")
FUNCTION = re.compile(r"\bfn (\w+)")


def uncovered(report):
    """(file, function) -> the uncovered regions: line and code."""
    found = collections.defaultdict(list)
    for file in json.load(open(report))["data"][0]["files"]:
        path = file["filename"]
        parts = pathlib.PurePath(path).parts
        if "crates" not in parts:
            continue
        name = "/".join(parts[len(parts) - parts[::-1].index("crates") :])
        if name.split("/")[0] not in CRATES:
            continue
        lines = (ROOT / "crates" / name).read_text().split("\n")
        # Of the tests themselves nothing is to be said.
        tests = next((n for n, text in enumerate(lines) if text == "mod tests {"), len(lines))
        for line, column, count, has_count, is_entry, is_gap in file["segments"]:
            if not (has_count and is_entry) or is_gap or count or line > tests:
                continue
            above = (FUNCTION.search(text) for text in reversed(lines[:line]))
            function = next((f[1] for f in above if f), "-")
            found[name, function].append((line, lines[line - 1][column - 1 :].strip()))
    return found


def explained():
    """(file, function) -> the kind of its reason."""
    kinds, kind = {}, None
    for line in (ROOT / "docs/uncovered.txt").read_text().splitlines():
        if line.startswith("["):
            kind = line.strip("[]")
        elif line and not line.startswith("#"):
            name, functions = line.split(": ")
            kinds.update({(name, f): kind for f in functions.split()})
    return kinds


def main():
    found, kinds = uncovered(sys.argv[1]), explained()
    counts = collections.Counter()
    for at, regions in found.items():
        counts[kinds.get(at, "not explained")] += len(regions)
    for (name, function), regions in sorted(found.items()):
        if (name, function) not in kinds:
            for line, code in regions:
                print(f"not explained: crates/{name}:{line}: {function}: {code}")
    for name, function in sorted(kinds.keys() - found.keys()):
        print(f"covered, though explained: crates/{name}: {function}")
    for kind, count in sorted(counts.items()):
        print(f"uncovered regions: {count} {kind}")
    return int(bool(found.keys() - kinds.keys()))


if __name__ == "__main__":
    sys.exit(main())
