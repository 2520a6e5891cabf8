"""Counts circles of imports between the files of each crate: python3 docs/circles.py [--paths]

File A imports file B if a `use` in A, other than a re-export, names an item of B. A re-exported name
counts for the file that it comes from. A circle is a largest set of two or more files in which each file
leads to each other one. Tests are left out. With --paths, a name that is written with its full path in
the code counts as an import as well.
"""

import pathlib
import re
import sys

sys.setrecursionlimit(10_000)
PATHS = "--paths" in sys.argv


def names(tree):
    """The (path, name) pairs of a tree of `use`."""
    group = re.fullmatch(r"(.*?)\{(.*)\}", tree.strip())
    if not group:
        path, _, name = tree.strip().partition(" as ")
        path = path.removesuffix("::self")
        return [(path, name or path.split("::")[-1])]
    parts, depth = [""], 0
    for c in group[2]:
        depth += (c == "{") - (c == "}")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [(group[1] + p, n) for part in parts if part.strip() for p, n in names(part)]


def read(src):
    """The text of each file by its module path, without comments and tests."""
    files = {}
    for file in sorted(src.rglob("*.rs")):
        path = file.relative_to(src).with_suffix("").parts
        if {"tests", "disk_tests", "testing", "bin"} & set(path):
            continue
        text = re.sub(r"//[^\n]*", "", file.read_text()).split("#[cfg(test)]\nmod tests")[0]
        text = re.sub(r"#\[cfg\(test\)\]\s*[^;{]*;", "", text)
        files[path[:-1] if path[-1] in ("mod", "lib", "main") else path] = text
    return files


def imports(files):
    """The files that each file imports."""

    def absolute(here, path):
        parts = path.replace(" ", "").split("::")
        if parts[0] == "crate":
            return tuple(parts[1:])
        if parts[0] == "self":
            return here + tuple(parts[1:])
        up = next((i for i, p in enumerate(parts) if p != "super"), len(parts))
        if up:
            return here[: len(here) - up] + tuple(parts[up:])
        return here + tuple(parts) if here + (parts[0],) in files else None

    exports, found = {}, {here: [] for here in files}
    for here, text in files.items():
        for public, tree in re.findall(r"(pub(?:\([^)]*\))? )?\buse\s+([^;]+);", text):
            for path, name in names(re.sub(r"\s+", " ", tree)):
                to = absolute(here, path)
                if to is not None and public:
                    exports[here + (name,)] = to
                elif to is not None:
                    found[here].append(to)
        if PATHS:
            body = re.sub(r"\buse\s+[^;]+;", "", text)
            full = re.findall(r"(?<![:\w])(?:[a-z_0-9]+::)+\w+", body)
            found[here] += [to for to in (absolute(here, p) for p in full) if to is not None]

    def home(item):
        heads = lambda: (item[:n] for n in range(len(item), 0, -1))
        for _ in range(9):
            head = next((h for h in heads() if h in exports and h not in files), None)
            if head is None:
                break
            item = exports[head] + item[len(head) :]
        return next((h for h in heads() if h in files), ())

    return {here: {home(to) for to in tos} & set(files) - {here} for here, tos in found.items()}


def circles(edges):
    """The strongly connected sets of two or more files (Tarjan)."""
    number, low, stack, out = {}, {}, [], []

    def visit(v):
        number[v] = low[v] = len(number)
        stack.append(v)
        for w in sorted(edges[v]):
            if w not in number:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], number[w])
        if low[v] == number[v]:
            members = []
            while not members or members[-1] != v:
                members.append(stack.pop())
            if len(members) > 1:
                out.append(sorted(members))

    for v in edges:
        if v not in number:
            visit(v)
    return out


total = 0
for src in sorted(pathlib.Path("crates").glob("*/src")):
    for members in circles(imports(read(src))):
        print(src.parent.name + ":", *("/".join(m) or "lib" for m in members))
        total += 1
print(total)
