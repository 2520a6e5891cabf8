#!/usr/bin/env python3
"""Run a grid of ns-2 experiments, one process at a time, appending CSV rows.

usage: run_grid.py EXPERIMENT OUT.csv [--ns BINARY] [--variant NAME]
                   [--seeds A-B] [--budget SECONDS] [--only key=value ...]

Rows already present in OUT.csv (same experiment, variant, parameters and
seed) are skipped, so an interrupted grid resumes.  Seeds form the outer loop:
a partial file covers the whole grid with fewer seeds.

Definitions
  transfer_time_s   first DATA chunk handed to the sender's access link, to
                    the arrival at the sender (last hop of the SACK) of the
                    first SACK whose cumulative TSN covers the last chunk.
  status            ok; noassoc (no DATA was ever sent); incomplete (aborted
                    or horizon reached); hung (ns-2 stopped advancing its
                    clock and was ended by the driver).
  t_first_data_s    simulated time of that first DATA chunk (the application
                    writes at t=0; ns-2.35 sends INIT, COOKIE and one
                    HEARTBEAT per path first).
  detect_s          first time the sender's variable trace shows the failed
                    path INACTIVE, minus fail_at.
  failovers_primary / failovers_alt
                    ACTIVE (or PF) -> INACTIVE transitions of path 0 / the
                    others before completion; without a failure they are
                    spurious.
  timeouts          T3 and heartbeat timeouts before completion, all paths
                    (the per-path counters of the variable trace).
  fast_rtx, mfr     the agent's counters of chunks fast retransmitted, and of
                    those fast retransmitted again, at the first whole second
                    after completion (mfr stays 0 for MfrHbAfterRto, whose
                    counter ns-2 does not export).
  to_data_*         T3 timeouts on a path that was ACTIVE, by the length of
                    the timer that expired (1, 2, 4, 8, >=16 s);
                    to_probe_*: timeouts on a path that was PF or INACTIVE.
"""
import argparse
import csv
import itertools
import math
import os
import re
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))

PKT = re.compile(
    rb"([+rd]) ([0-9.e+-]+) (\d+) (\d+) sctp (\d+) (\S+) \d+ (\d+)\.\d+ "
    rb"(\d+)\.\d+ (\d+) (-?\d+) (\d+) (\d+) (\d+)")
VAR = re.compile(
    rb"time: ([0-9.]+) +saddr: (\d+) +sport: \d+ +daddr: (\d+) .*?"
    rb"rto: ([0-9.]+).*?assocErrors: (\d+) pathErrors: (\d+) dstatus: (\w+) "
    rb"(?:isPrimary: (\w+) )?.*?timeoutCount: (\d+)")
POLL = re.compile(rb"P ([0-9.e+-]+) (\d+) (\d+) (\d+)\s*$")

PARAMS = ["class", "rta", "size", "loss0", "loss1", "d0", "d1", "pmr", "cpt",
          "dormant", "rbuf", "chunk", "issthresh", "delsack", "cmtpf",
          "pfcwnd", "cmtrtx", "fail_path", "fail_at", "repair_at", "qlimit",
          "trigger"]
RESULTS = ["status", "transfer_time_s", "t_first_data_s", "t_done_s",
           "detect_s", "failovers_primary", "failovers_alt",
           "primary_changes", "timeouts", "timeouts_p0", "timeouts_p1", "fast_rtx", "mfr", "chunks",
           "data_sent_p0", "data_sent_p1", "rtx_chunks", "drops_p0",
           "drops_p1", "acked_frac_4s", "lastacked_tsn",
           "to_data_1", "to_data_2", "to_data_4", "to_data_8", "to_data_16",
           "to_probe", "tp_5_10_kBps", "sim_end_s", "wall_s"]
DEFAULTS = {"class": "SCTP", "rta": 2, "size": 4 * 2 ** 20, "loss0": 0,
            "loss1": 0, "d0": "25ms", "d1": "25ms", "pmr": 5, "cpt": 1000000,
            "dormant": 0, "rbuf": 65536, "chunk": 1468, "issthresh": 65536,
            "delsack": 1, "cmtpf": 0, "pfcwnd": 1, "cmtrtx": 2,
            "fail_path": 0, "fail_at": -1, "repair_at": -1, "qlimit": 50,
            "trigger": 0}
MIB = 2 ** 20

SCHEMES = {
    "AllRtxAlt": ("SCTP", 1), "AllRtxAlt+HAR": ("SCTP/HbAfterRto", 1),
    "AllRtxAlt+TS": ("SCTP/Timestamp", 1), "AllRtxSame": ("SCTP", 0),
    "AllRtxSame+MFR": ("SCTP/MultipleFastRtx", 0),
    "FrSameRtoAlt": ("SCTP", 2), "FrSameRtoAlt+HAR": ("SCTP/HbAfterRto", 2),
    "FrSameRtoAlt+TS": ("SCTP/Timestamp", 2),
    "FrSameRtoAlt+MFR": ("SCTP/MultipleFastRtx", 2),
    "FrSameRtoAlt+MFR+HAR": ("SCTP/MfrHbAfterRto", 2),
    "FrSameRtoAlt+MFR+TS": ("SCTP/MfrTimestamp", 2),
}


def scheme(name):
    cls, rta = SCHEMES[name]
    return {"scheme": name, "class": cls, "rta": rta,
            "chunk": 1456 if "Timestamp" in cls else 1468}


def grid_globecom():
    for l0, l1, s in itertools.product((.01, .03, .05, .08),
                                       (0, .02, .05, .08, .10), SCHEMES):
        yield dict(scheme(s), loss0=l0, loss1=l1)


def grid_globecom_fail():
    for l0, l1, s in itertools.product((0, .01, .05, .09),
                                       (0, .02, .05, .08, .10), SCHEMES):
        yield dict(scheme(s), loss0=l0, loss1=l1, fail_path=0, fail_at=4)


def grid_pmr(size):
    def g():
        for d1, l0, l1, pmr in itertools.product(
                ("25ms", "85ms", "500ms"), (.03, .05, .08, .10),
                (0, .03, .05, .08, .10), range(6)):
            yield dict(scheme("FrSameRtoAlt+MFR"), size=size, loss0=l0,
                       loss1=l1, d1=d1, pmr=pmr)
    return g


def grid_spurious():
    # 80 MiB, one alternate loss rate per seed is not enough: all are run.
    for l0, l1, pmr in itertools.product(
            (.01, .02, .03, .04, .06, .08, .09, .10), (0, .05, .10),
            range(6)):
        yield dict(scheme("FrSameRtoAlt+MFR"), size=80 * MIB, loss0=l0,
                   loss1=l1, pmr=pmr)


def grid_spurious_dist(seed):
    # The paper aggregates over alternate loss rates 0-10%: every seed takes
    # one of them, so that the runs of one point are independent.
    for l0, pmr in itertools.product((.01, .02, .03, .04), (0, 1)):
        yield dict(scheme("FrSameRtoAlt+MFR"), size=80 * MIB, loss0=l0,
                   loss1=(seed % 11) / 100, pmr=pmr)


def grid_pmr80():
    for l0, l1, pmr in itertools.product((.03, .05, .08, .10), (0, .05, .10),
                                         (0, 1, 3, 5)):
        yield dict(scheme("FrSameRtoAlt+MFR"), size=80 * MIB, loss0=l0,
                   loss1=l1, pmr=pmr)


def grid_cpt():
    for (d0, d1), l0, l1, cpt in itertools.product(
            (("25ms", "25ms"), ("25ms", "85ms"), ("85ms", "25ms")),
            (.03, .05, .08, .10), (0, .01, .03, .05, .08, .10),
            (0, 1, 2, 3, 4, 5, 1000000)):
        yield dict(scheme("FrSameRtoAlt+MFR"), size=8 * MIB, loss0=l0,
                   loss1=l1, d0=d0, d1=d1, pmr=0, cpt=cpt)


def grid_cpt80():
    for d1, l1, cpt in itertools.product(("25ms", "85ms"),
                                         (0, .01, .03, .05, .10),
                                         (0, 5, 1000000)):
        yield dict(scheme("FrSameRtoAlt+MFR"), size=80 * MIB, loss0=.05,
                   loss1=l1, d1=d1, pmr=0, cpt=cpt)


def grid_dormant():
    for l0, l1, pmr, dorm in itertools.product(
            (.05, .08, .10), (.05, .10), (0, 1), (0, 1, 2)):
        yield dict(scheme("FrSameRtoAlt+MFR"), size=8 * MIB, loss0=l0,
                   loss1=l1, pmr=pmr, dormant=dorm)


CMTS = {"CMT": (0, 1), "CMT-PF1": (1, 1), "CMT-PF2": (1, 2)}


def cmt(name, **kw):
    pf, w = CMTS[name]
    r = {"scheme": name, "class": "SCTP/CMT", "cmtpf": pf, "pfcwnd": w,
         "size": 8 * MIB, "issthresh": 16000}
    r.update(kw)
    return r


def grid_cmt_fail():
    for rb, ss, n in itertools.product((32, 64, 128, 256),
                                       (16000, 65536), CMTS):
        yield cmt(n, rbuf=rb * 1024, issthresh=ss, fail_path=1, fail_at=5)
        yield cmt(n, rbuf=rb * 1024, issthresh=ss, fail_path=1, fail_at=5,
                  repair_at=10)
        yield cmt(n, rbuf=rb * 1024, issthresh=ss)


def grid_cmt_short():
    for rb, n in itertools.product((16, 32, 64, 128, 256), CMTS):
        yield cmt(n, rbuf=rb * 1024, loss0=.01, loss1=.01, fail_path=1,
                  fail_at=5, repair_at=10)


def grid_cmt_cong():
    for l1, n in itertools.product(range(1, 11), CMTS):
        yield cmt(n, loss0=.01, loss1=l1 / 100)


def grid_cmt_rtx():
    for pol, l1, rb, n in itertools.product(
            range(5), (.01, .05, .10), (32, 64, 128), ("CMT", "CMT-PF2")):
        yield cmt(n, loss0=.01, loss1=l1, cmtrtx=pol, rbuf=rb * 1024)


GRIDS = {
    "globecom": grid_globecom, "globecom_fail": grid_globecom_fail,
    "pmr8": grid_pmr(8 * MIB), "pmr80": grid_pmr80,
    "spurious": grid_spurious,
    "spurious_dist": grid_spurious_dist, "cpt8": grid_cpt, "cpt80": grid_cpt80, "dormant8": grid_dormant,
    "cmt_fail": grid_cmt_fail, "cmt_short": grid_cmt_short,
    "cmt_cong": grid_cmt_cong, "cmt_rtx": grid_cmt_rtx,
}


def run_one(ns, point, seed, horizon):
    p = dict(DEFAULTS)
    p.update({k: v for k, v in point.items() if k != "scheme"})
    n = math.ceil(p["size"] / (p["chunk"] - 16))
    args = ["%s=%s" % (k, p[k]) for k in PARAMS]
    cmd = ["nice", "-n", "10", ns, os.path.join(HERE, "multihome.tcl")]
    cmd += args + ["seed=%d" % seed, "horizon=%s" % horizon]
    w0 = time.time()
    proc = subprocess.Popen(cmd, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL)
    # ns-2's CMT agent can loop for ever at one simulated instant.
    hung = []
    dog = threading.Timer(10 if p["size"] < 5e7 else 90,
                          lambda: (hung.append(1), proc.kill()))
    dog.start()
    r = {k: "" for k in RESULTS}
    first = done = detect = None
    sent = [0, 0, 0]
    drops = [0, 0, 0]
    seen = set()
    rtx = cum = cum4 = 0
    acked_at = {}
    st = {}
    err = {}
    prim = None
    changes = 0
    fo = [0, 0, 0]
    data_to = {1: 0, 2: 0, 4: 0, 8: 0, 16: 0}
    probe_to = 0
    to_path = [0, 0, 0]
    counters = None
    end = 0.0
    fail_at = float(p["fail_at"])
    for line in proc.stdout:
        m = PKT.search(line)
        if m:
            ev, t = m.group(1), float(m.group(2))
            kind = m.group(6)[-1:]
            if ev == b"+":
                if kind == b"D" and done is None:
                    tsn = int(m.group(10))
                    if first is None:
                        first = t
                    sent[int(m.group(3)) - 1] += 1
                    if tsn in seen:
                        rtx += 1
                    else:
                        seen.add(tsn)
            elif ev == b"r":
                if kind == b"S" or kind == b"N":
                    tsn = int(m.group(10))
                    if tsn > cum:
                        cum = tsn
                        if t <= 4.0:
                            cum4 = tsn
                        if t <= 5.0:
                            acked_at[5] = tsn
                        if t <= 10.0:
                            acked_at[10] = tsn
                        if cum >= n and done is None:
                            done = t
            elif done is None:
                # core drop: node ids 6,7 are path 0, 8,9 path 1 (2 paths)
                drops[(int(m.group(3)) - 6) // 2] += 1
            continue
        m = POLL.search(line)
        if m:
            end = float(m.group(1))
            counters = m.groups()
            if done is not None and end >= done:
                break
            continue
        m = VAR.search(line)
        if m and done is None:
            t = float(m.group(1))
            path = int(m.group(2)) - 1
            rto, pe = float(m.group(4)), int(m.group(6))
            status = m.group(7)
            if pe > err.get(path, 0):
                if st.get(path, b"ACTIVE") == b"ACTIVE":
                    per = rto / 2 if rto < 60 else 32
                    b = 1
                    while b < 16 and per > b * 1.5:
                        b *= 2
                    data_to[b] += 1
                else:
                    probe_to += 1
            err[path] = pe
            if status == b"INACTIVE" and st.get(path) != b"INACTIVE":
                fo[path] += 1
                if (detect is None and fail_at >= 0 and t >= fail_at
                        and path == int(p["fail_path"])):
                    detect = t - fail_at
            st[path] = status
            to_path[path] = int(m.group(9))
            if m.group(8) == b"TRUE":
                if prim is not None and prim != path:
                    changes += 1
                prim = path
    dog.cancel()
    proc.stdout.close()
    proc.terminate()
    proc.wait()
    if counters:
        r["fast_rtx"], r["mfr"] = int(counters[1]), int(counters[2])
    r["timeouts"] = sum(to_path)
    r["timeouts_p0"], r["timeouts_p1"] = to_path[0], to_path[1]
    r["status"] = ("ok" if done is not None else
                   "hung" if hung else
                   "noassoc" if first is None else "incomplete")
    if done is not None:
        r["transfer_time_s"] = "%.6f" % (done - first)
        r["t_done_s"] = "%.6f" % done
    if first is not None:
        r["t_first_data_s"] = "%.6f" % first
    if detect is not None:
        r["detect_s"] = "%.5f" % detect
    r["failovers_primary"], r["failovers_alt"] = fo[0], fo[1]
    r["primary_changes"] = changes
    r["chunks"] = n
    r["data_sent_p0"], r["data_sent_p1"] = sent[0], sent[1]
    r["rtx_chunks"] = rtx
    r["drops_p0"], r["drops_p1"] = drops[0], drops[1]
    r["acked_frac_4s"] = "%.4f" % (cum4 / n)
    r["lastacked_tsn"] = cum
    for k, v in data_to.items():
        r["to_data_%d" % k] = v
    r["to_probe"] = probe_to
    if 5 in acked_at and 10 in acked_at:
        r["tp_5_10_kBps"] = "%.2f" % (
            (acked_at[10] - acked_at[5]) * (p["chunk"] - 16) / 5000.0)
    r["sim_end_s"] = "%.1f" % end
    r["wall_s"] = "%.3f" % (time.time() - w0)
    row = {k: p[k] for k in PARAMS}
    row.update(r)
    row["scheme"] = point.get("scheme", "")
    row["seed"] = seed
    return row


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("experiment", choices=sorted(GRIDS))
    ap.add_argument("out")
    ap.add_argument("--ns", default="/usr/bin/ns")
    ap.add_argument("--variant", default="stock-2.35")
    ap.add_argument("--seeds", default="1-10")
    ap.add_argument("--budget", type=float, default=1e9)
    ap.add_argument("--horizon", default=None)
    ap.add_argument("--only", nargs="*", default=[])
    a = ap.parse_args()
    lo, hi = (a.seeds.split("-") + [a.seeds])[:2]
    fields = ["experiment", "variant", "scheme", "seed"] + PARAMS + RESULTS
    key = ["variant", "scheme", "seed"] + PARAMS
    have = set()
    if os.path.exists(a.out):
        with open(a.out, newline="") as f:
            for row in csv.DictReader(f):
                have.add(tuple(row[k] for k in key))
    new = not os.path.exists(a.out)
    t0 = time.time()
    n = 0
    with open(a.out, "a", newline="") as f:
        w = csv.DictWriter(f, fields)
        if new:
            w.writeheader()
        for seed in range(int(lo), int(hi) + 1):
            g = GRIDS[a.experiment]
            for point in (g(seed) if g is grid_spurious_dist else g()):
                if any(str(point.get(o.split("=")[0])) not in
                       o.split("=")[1].split(",") for o in a.only):
                    continue
                full = dict(DEFAULTS)
                full.update(point)
                full.update(variant=a.variant, seed=seed)
                if tuple(str(full[k]) for k in key) in have:
                    continue
                if time.time() - t0 > a.budget:
                    print("budget spent after", n, "rows")
                    return
                hz = a.horizon or (40000 if full["size"] > 5e7 else 6000)
                row = run_one(a.ns, point, seed, hz)
                row["experiment"] = a.experiment
                row["variant"] = a.variant
                w.writerow(row)
                f.flush()
                n += 1
    print(a.experiment, a.variant, n, "rows", "%.1f s" % (time.time() - t0))


if __name__ == "__main__":
    main()
