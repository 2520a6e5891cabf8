#!/usr/bin/env python3
"""Run ns-2 for the cells of a paper's ns2.csv, and write the table again.

usage: cells.py PAPER OUT.csv [--ns BINARY] [--trigger N] [--budget SECONDS]

PAPER is caro-2004, caro-2006 or natarajan-2006: experiments/PAPER/ns2.csv
names the cells.
OUT.csv is that table with new figures; OUT.csv.rows keeps a row for each run
(columns as in run_grid.py), and an interrupted command goes on with it.

BINARY is the copy of ns-2 with RFC 2960's windows (make_rfc2960_variant.py).
--trigger is fastRtxTrigger_, 4 as the module had it until its release 3.8.

Seeds of a cell: 16 (caro-2004); 6, and 30 of the distributions of spurious
failovers (caro-2006), where each seed takes another loss of the alternate
path, 0 to 10 %; 20, and 40 at 10 % (natarajan-2006), one without losses.
"""
import argparse
import csv
import math
import os
import time

import run_grid as grid

HERE = os.path.dirname(os.path.abspath(__file__))
DORMANT = {"Hop": 0, "Primary": 1, "Last": 2}
# The core's one-way delay that gives a round trip: 90, 210 and 1040 ms.
DELAYS = {"pmr-slow": ("25ms", "500ms"), "cpt-longer": ("25ms", "85ms"),
          "cpt-longer-80": ("25ms", "85ms"), "cpt-shorter": ("85ms", "25ms")}


def share(text):
    return float(text) / 100 if text else 0


def point(paper, cell, seed):
    """The parameters of a cell of a study, for one seed."""
    study = cell["study"]
    if paper == "natarajan-2006":
        buffer = int(cell["buffer"] or 64) * 1024
        p = grid.cmt(cell["policy"], rbuf=buffer)
        if study == "congestion":
            return dict(p, loss0=.01, loss1=share(cell["loss2"]))
        if study == "buffer":
            p.update(loss0=.01, loss1=.01)
        # Path 2 dies at 5 s, for good or for 5 s.
        back = -1 if study == "failure" else 10
        return dict(p, fail_path=1, fail_at=5, repair_at=back)
    if paper == "caro-2004":
        p = grid.scheme(cell["policy"])
        p.update(loss0=share(cell["loss1"]), loss1=share(cell["loss2"]))
        if study == "failure":
            p.update(fail_path=0, fail_at=4)
        return p
    p = grid.scheme("FrSameRtoAlt+MFR")
    d0, d1 = DELAYS.get(study, ("25ms", "25ms"))
    mib = int(cell["size"] or (8 if study == "dormant" else 80))
    p.update(d0=d0, d1=d1, size=mib * grid.MIB, loss0=share(cell["loss1"]),
             loss1=share(cell["loss2"]))
    if study == "no-loss":
        p.update(pmr=5)
    elif study == "spurious":
        p.update(pmr=int(cell["pmr"]), loss1=(seed % 11) / 100)
    elif study.startswith("cpt"):
        p.update(pmr=0, cpt=int(cell["cpt"]))
        if study.endswith("-80"):
            p.update(loss0=.05)
    else:
        p.update(pmr=int(cell["pmr"]))
    if study == "dormant":
        p.update(dormant=DORMANT[cell["dormant"]])
    return p


def seeds(paper, cell):
    if paper == "caro-2004":
        return 16
    if paper == "natarajan-2006":
        if cell["study"] in ("failure", "outage"):
            return 1
        return 40 if cell["loss2"] == "10" else 20
    return {"spurious": 30, "no-loss": 1}.get(cell["study"], 6)


def value(measure, row):
    """What a run gives for a measure; None if it is left out."""
    late = row["t_first_data_s"] and float(row["t_first_data_s"]) > .3
    if row["status"] != "ok" or (float(row["fail_at"]) >= 0 and late):
        return None
    column = {"transfer_s": "transfer_time_s", "done_at_s": "t_done_s",
              "failure1_inactive_s": "detect_s", "detected_at_s": "detect_s",
              "rate@5-10": "tp_5_10_kBps",
              "path1_failures": "failovers_primary"}.get(measure)
    column = column or measure.replace("timeouts_", "to_data_")
    if row[column] == "":
        return None
    after = float(row["fail_at"]) if measure == "detected_at_s" else 0
    return float(row[column]) + after


def table(out, cells, columns, rows, paper):
    """Writes the table of the cells of which there are runs."""
    with open(out, "w", newline="") as f:
        w = csv.DictWriter(f, columns, lineterminator="\n")
        w.writeheader()
        for cell in cells:
            found = [value(cell["measure"], rows[k]) for k in keys(paper, cell)
                     if k in rows]
            found = [v for v in found if v is not None]
            if not found:
                continue
            n = len(found)
            mean = sum(found) / n
            sd = math.sqrt(sum((v - mean) ** 2 for v in found)
                           / max(n - 1, 1))
            values = ""
            if cell["values"]:
                values = " ".join("%g" % round(v, 4) for v in found)
            w.writerow(dict(cell, n=n, mean="%.4f" % mean, sd="%.4f" % sd,
                            values=values))


def keys(paper, cell):
    for seed in range(1, seeds(paper, cell) + 1):
        p = dict(grid.DEFAULTS)
        p.update(point(paper, cell, seed))
        p.update(trigger=TRIGGER)
        yield (str(seed),) + tuple(str(p[k]) for k in grid.PARAMS)


def main():
    global TRIGGER
    ap = argparse.ArgumentParser()
    ap.add_argument("paper", choices=["caro-2004", "caro-2006", "natarajan-2006"])
    ap.add_argument("out")
    ap.add_argument("--ns", default="/usr/bin/ns")
    ap.add_argument("--trigger", type=int, default=4)
    ap.add_argument("--budget", type=float, default=1e9)
    a = ap.parse_args()
    TRIGGER = a.trigger
    source = os.path.join(HERE, "..", a.paper, "ns2.csv")
    with open(source, newline="") as f:
        reader = csv.DictReader(f)
        columns, cells = reader.fieldnames, list(reader)
    kept = a.out + ".rows"
    fields = ["scheme", "seed"] + grid.PARAMS + grid.RESULTS
    rows = {}
    if os.path.exists(kept):
        with open(kept, newline="") as f:
            for row in csv.DictReader(f):
                key = (row["seed"],) + tuple(row[k] for k in grid.PARAMS)
                rows[key] = row
    begun, n = time.time(), 0
    with open(kept, "a", newline="") as f:
        w = csv.DictWriter(f, fields, extrasaction="ignore")
        if not rows:
            w.writeheader()
        for cell in cells:
            for key in keys(a.paper, cell):
                if key in rows or time.time() - begun > a.budget:
                    continue
                p = point(a.paper, cell, int(key[0]))
                p.update(trigger=TRIGGER)
                horizon = 40000 if p.get("size", 0) > 5e7 else 6000
                row = grid.run_one(a.ns, p, int(key[0]), horizon)
                row = {k: str(row.get(k, "")) for k in fields}
                rows[key] = row
                w.writerow(row)
                f.flush()
                n += 1
    table(a.out, cells, columns, rows, a.paper)
    print(a.paper, n, "runs in", "%.0f s" % (time.time() - begun))


if __name__ == "__main__":
    main()
