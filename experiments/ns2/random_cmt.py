#!/usr/bin/env python3
"""Draw scenarios of concurrent multipath transfer with losses, and run ns-2.

usage: random_cmt.py FOLDER FIRST LAST [--policy N] [--ns BINARY]

For each number from FIRST to LAST: FOLDER/cmt-NUMBER.json (as in ns2-suite)
and its packet trace, cmt-NUMBER.csv.gz. `byway-ns2 FOLDER` compares them.
A scenario has two paths of random rates and delays, buffers, ssthresh, CMT or
CMT-PF, and a few lost packets at given places in each direction.
--policy: eCmtRtxPolicy_ (0 asap, 1 same, 2 ssthresh, 3 loss rate,
4 cwnd); else drawn.
It ends before the first heartbeat of an idle path, whose time is random.
"""
import argparse
import gzip
import json
import os
import random
import re
import subprocess

COMMON = {
    "associationMaxRetrans": 10, "pathMaxRetrans": 5,
    "changePrimaryThresh": -1, "maxInitRetransmits": 8,
    "heartbeatInterval": 30, "mtu": 1500, "initialRwnd": 65536,
    "initialSsthresh": 65536, "initialRto": 3.0, "minRto": 1.0,
    "maxRto": 60.0, "fastRtxTrigger": 3, "numOutStreams": 1,
    "numUnrelStreams": 0, "reliability": 0, "unordered": 0,
    "dataChunkSize": 1468, "useDelayedSacks": 1, "sackDelay": 0.2,
    "useMaxBurst": 1, "rtxToAlt": 1, "dormantAction": 0, "initialSwnd": 0,
    "useNonRenegSacks": 0, "useCmtReordering": 1, "useCmtCwnd": 1,
    "useCmtDelAck": 1, "eCmtRtxPolicy": 4, "useCmtPF": 1, "cmtPFCwnd": 2}
END = 14.0
PKT = re.compile(
    r"([+rd]) ([0-9.e+-]+) (\d+) (\d+) sctp (\d+) (\S+) \d+ \d+\.\d+ "
    r"\d+\.\d+ \d+ (-?\d+) (\d+) (\d+) (\d+)")


def draw(number, policy):
    r = random.Random("cmt %d" % number)
    settings = dict(
        COMMON, initialSsthresh=r.choice([16000, 65536]),
        eCmtRtxPolicy=r.choice([1, 2, 4]) if policy is None else policy,
        useCmtPF=r.choice([0, 1]), cmtPFCwnd=r.choice([1, 2]))
    receiver = dict(COMMON, initialRwnd=r.choice([16384, 32768, 65536, 131072]),
                    useCmtPF=settings["useCmtPF"],
                    cmtPFCwnd=settings["cmtPFCwnd"],
                    eCmtRtxPolicy=settings["eCmtRtxPolicy"])
    links, losses = [], []
    alike = r.random() < .5
    for a, b in ((1, 4), (2, 5)):
        if not links or not alike:
            rate = r.choice([1e6, 2e6, 5e6, 10e6])
            delay = r.choice([.01, .025, .045, .1])
        links.append({"a": a, "b": b, "bandwidth_bps": rate, "delay_s": delay,
                      "queue": "DropTail", "queue_limit_a_to_b_pkts": 50,
                      "queue_limit_b_to_a_pkts": 50})
        for way, most in (((a, b), 500), ((b, a), 300)):
            places = sorted(r.sample(range(6, most), r.choice([0, 2, 5, 9])))
            if places:
                losses.append({"from": way[0], "to": way[1],
                               "packet_ordinals": places})
    host = {"agent_class": "SCTP/CMT"}
    return {
        "name": "cmt-%05d" % number, "trace": "ns-2.35 reference output",
        "hosts": [
            dict(host, role="initiator", interfaces=[1, 2], params=settings,
                 params_set_explicitly=[], primary_destination=4),
            dict(host, role="responder", interfaces=[4, 5], params=receiver,
                 params_set_explicitly=[])],
        "links": links,
        "events": [{"time_s": 0.0, "event": "app_send", "agent": "initiator",
                    "bytes": 1452 * r.choice([300, 600, 1000])},
                   {"time_s": END, "event": "end"}],
        "loss_models": losses}


def tcl(s, trace):
    out = ["Trace set show_sctphdr_ 1", "set ns [new Simulator]",
           "set all [open %s w]" % trace]
    for core, ifs in ((0, (1, 2)), (3, (4, 5))):
        out.append("set n%d [$ns node]" % core)
        for i in ifs:
            out.append("set n%d [$ns node]" % i)
            out.append("$ns multihome-add-interface $n%d $n%d" % (core, i))
    for link in s["links"]:
        ends = "$n%d $n%d" % (link["a"], link["b"])
        back = "$n%d $n%d" % (link["b"], link["a"])
        out.append("$ns duplex-link %s %f %fs DropTail" % (
            ends, link["bandwidth_bps"], link["delay_s"]))
        for way in (ends, back):
            out.append("$ns queue-limit %s 50" % way)
            out.append("$ns trace-queue %s $all" % way)
    for loss in s["loss_models"]:
        out.append("set em [new ErrorModel/List]")
        out.append("$em droplist {%s}" % " ".join(
            map(str, loss["packet_ordinals"])))
        out.append("$ns lossmodel $em $n%d $n%d" % (loss["from"], loss["to"]))
    for k, (host, core) in enumerate(zip(s["hosts"], (0, 3))):
        out.append("set s%d [new Agent/%s]" % (k, host["agent_class"]))
        out.append("$ns multihome-attach-agent $n%d $s%d" % (core, k))
        for name, value in host["params"].items():
            out.append("$s%d set %s_ %s" % (k, name, value))
    send = s["events"][0]
    out += ["$ns connect $s0 $s1", "$s0 set-primary-destination $n4",
            "set ftp [new Application/FTP]", "$ftp attach-agent $s0",
            '$ns at %s "$ftp send %d"' % (send["time_s"], send["bytes"]),
            '$ns at %s "close $all; exit 0"' % s["events"][1]["time_s"],
            "$ns run"]
    return "\n".join(out) + "\n"


def convert(trace):
    happening = {"+": "send", "r": "recv", "d": "drop"}
    rows = ["time_s,event,from_node,to_node,chunk,size_bytes,tsn,stream,ssn"]
    offered = set()
    for line in open(trace):
        m = PKT.match(line)
        kind = {"D": "DATA", "S": "SACK"}.get(m.group(6)[-1]) if m else None
        if not kind:
            continue
        of = [m.group(9), m.group(10)] if kind == "DATA" else ["", ""]

        def row(event):
            rows.append(",".join(
                [m.group(2), event, m.group(3), m.group(4), kind, m.group(5),
                 m.group(7)] + of))
        packet = (m.group(3), m.group(8))
        if m.group(1) == "d" and packet not in offered:
            # ns-2 writes no line for what a loss model is offered.
            row("send")
        if m.group(1) == "+":
            offered.add(packet)
        row(happening[m.group(1)])
    return "\n".join(rows) + "\n"


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("folder")
    ap.add_argument("first", type=int)
    ap.add_argument("last", type=int)
    ap.add_argument("--policy", type=int)
    ap.add_argument("--ns", default="/usr/bin/ns")
    a = ap.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    for number in range(a.first, a.last + 1):
        s = draw(number, a.policy)
        path = os.path.join(a.folder, s["name"])
        with open(path + ".tcl", "w") as f:
            f.write(tcl(s, path + ".tr"))
        try:
            done = subprocess.run([a.ns, path + ".tcl"], timeout=20,
                                  capture_output=True)
        except subprocess.TimeoutExpired:
            print(s["name"], "ns-2 loops for ever: left out")
            continue
        if done.returncode or done.stderr:
            print(s["name"], done.returncode, done.stderr[:200])
            continue
        with open(path + ".json", "w") as f:
            json.dump(s, f, indent=1)
        with gzip.GzipFile(path + ".csv.gz", "w", mtime=0) as f:
            f.write(convert(path + ".tr").encode())
        os.remove(path + ".tr")
        os.remove(path + ".tcl")


if __name__ == "__main__":
    main()
