#!/usr/bin/env python3
"""A TCP program over two unlike uplinks, as it has it today and by way of byway (root, Linux): plain TCP over the better
uplink, MPTCP over both, `byway forward` and `byway serve`.

    forward.py BYWAY --stream FILE [--runs N] [--seconds S] [--watch S]

The uplinks are those of `byway emulate`: 200 Mbit/s with a round trip of 20 ms and 5 Mbit/s with one of 40 ms. The program is
bench/tcp/stream.c, compiled, which sends as much as it can; `byway forward` gets it over loopback, encrypts it, and `byway serve` gives it
to the program's other end. Each run has a network of its own: after a second the bytes that reach the reader and the processor time of all
programs are counted for --seconds (6), then the better uplink is cut, silently, and the longest time without a byte is taken, up to --watch
(10) seconds later. One that has nothing for that long is said to have stalled for longer.

Processor time is that of the programs as the kernel counts it for their processes. What the kernel does for TCP or UDP on behalf of no
process (soft interrupts) is in none of them, and the emulator is not counted.

The last line is JSON. Status 1, with a sentence, if a contender cannot run, or if by the medians
- plain TCP survives the cut: it is the control;
- `byway forward` does not go on within a second of it, or MPTCP goes on earlier;
- with concurrent=on it carries less than 0.98 of what it carries over the better uplink alone. 0.80 was seen when a connection's window was smaller
  than what waits for the slow path.
"""

import argparse, json, os, statistics, subprocess, sys, tempfile, threading, time

SCENARIO = """limit = "600 s"
[traffic]
kind = "bulk"
size = "8 MiB"
[[path]]
name = "better"
rate = "200 Mbit/s"
delay = "10 ms"
queue = "400 packets"
[[path]]
name = "weaker"
rate = "5 Mbit/s"
delay = "20 ms"
queue = "60 packets"
"""
HERE, THERE = "10.1.0.1,10.2.0.1", "10.1.0.2,10.2.0.2"
PORT, DOOR = 5201, 7001
WARM = 1.0
# Seconds after the cut, and what two uplinks at once must carry by what the better one does.
LONGEST_STALL, LEAST_BOTH = 1.0, 0.98


def inside(host, *words):
    return ["ip", "netns", "exec", host, *words]


def done(*words):
    subprocess.run(words, check=True, capture_output=True)


def wait_for(what, words, expected):
    for _ in range(200):
        if expected in subprocess.run(words, capture_output=True, text=True).stdout:
            return
        time.sleep(0.05)
    raise RuntimeError(f"{what} does not come up")


class Network:
    """Two hosts, for a `with`; `sender` and `receiver` are their names."""

    def __init__(self, byway, folder):
        self.name = f"bwt{os.getpid()}"
        self.sender, self.receiver = f"{self.name}-sender", f"{self.name}-receiver"
        file = os.path.join(folder, "uplinks.toml")
        with open(file, "w", encoding="utf-8") as out:
            out.write(SCENARIO)
        self.words = [byway, "emulate", file, "--quiet", "--name", self.name, "--", "sleep", "600"]
        self.started = []

    def __enter__(self):
        # It says that it was terminated, which is how it ends.
        self.emulator = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shown = ["ip", "-n", self.receiver, "-o", "-4", "addr", "show", "dev", "path2", "up"]
        wait_for("the network", shown, "10.2.0.2")
        return self

    def __exit__(self, *_):
        for process in reversed(self.started):
            process.kill()
            process.wait()
        self.emulator.terminate()
        self.emulator.wait()

    def start(self, host, *words, **more):
        process = subprocess.Popen(inside(host, *words), stdin=more.pop("stdin", subprocess.DEVNULL), **more)
        self.started.append(process)
        return process

    def listens(self, host, port):
        wait_for(f"port {port}", inside(host, "ss", "-Hltn", f"sport = :{port}"), f":{port}")

    def cut_better(self):
        for host in (self.sender, self.receiver):
            rules = "table inet cut { chain in { type filter hook prerouting priority -300; iifname path1 drop; }; }"
            subprocess.run(inside(host, "nft", "-f", "-"), input=rules, text=True, check=True)


def processor_seconds(processes):
    """Of these processes so far."""
    ticks = 0
    for process in processes:
        with open(f"/proc/{process.pid}/stat", encoding="utf-8") as stat:
            fields = stat.read().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def tcp(network, args, mptcp):
    if mptcp:
        for host in (network.sender, network.receiver):
            done("ip", "-n", host, "mptcp", "limits", "set", "subflow", "2", "add_addr_accepted", "2")
        done("ip", "-n", network.sender, "mptcp", "endpoint", "add", "10.2.0.1", "dev", "path2", "subflow")
        done("ip", "-n", network.receiver, "mptcp", "endpoint", "add", "10.2.0.2", "dev", "path2", "signal")
    kind = ["--mptcp", "1"] if mptcp else []
    receiver = network.start(network.receiver, args.stream, "recv", "--port", str(PORT), *kind, stdout=subprocess.PIPE)
    network.listens(network.receiver, PORT)
    return receiver, ["10.1.0.2", PORT, kind]


def byway(network, args, folder, settings):
    ticket = os.path.join(folder, "ticket")
    if os.path.exists(ticket):
        os.remove(ticket)
    receiver = network.start(network.receiver, args.stream, "recv", "--port", str(PORT), stdout=subprocess.PIPE)
    network.listens(network.receiver, PORT)
    words = [args.byway, "serve", "--quiet", "--bind", THERE, "--allow", f"127.0.0.1:{PORT}", "--ticket-to", ticket]
    network.start(network.receiver, *words, *settings)
    for _ in range(100):
        if os.path.exists(ticket) and os.path.getsize(ticket):
            break
        time.sleep(0.05)
    words = [args.byway, "forward", "--quiet", "--bind", HERE, "--listen", f"127.0.0.1:{DOOR}", "--to", f"@{ticket}"]
    network.start(network.sender, *words, *settings)
    network.listens(network.sender, DOOR)
    return receiver, ["127.0.0.1", DOOR, []]


CONTENDERS = {
    "TCP, the better uplink": lambda n, a, f: tcp(n, a, False),
    "MPTCP": lambda n, a, f: tcp(n, a, True),
    "byway forward": lambda n, a, f: byway(n, a, f, []),
    "byway forward, concurrent=on": lambda n, a, f: byway(n, a, f, ["--set", "concurrent=on"]),
}


class Reader(threading.Thread):
    """Reads as fast as it comes: how many bytes, and the longest pause since `watched`."""

    def __init__(self, pipe):
        super().__init__(daemon=True)
        self.pipe, self.bytes, self.last, self.longest, self.watched = pipe, 0, None, 0.0, None
        self.start()

    def run(self):
        while block := os.read(self.pipe.fileno(), 1 << 16):
            now = time.monotonic()
            self.pause(now)
            self.last = now
            self.bytes += len(block)

    def pause(self, now):
        if self.watched and self.last:
            self.longest = max(self.longest, now - max(self.last, self.watched))


def one(name, args, folder):
    with Network(args.byway, folder) as network:
        receiver, (address, port, kind) = CONTENDERS[name](network, args, folder)
        reader = Reader(receiver.stdout)
        zero = open("/dev/zero", "rb")
        network.start(network.sender, args.stream, "send", "--to", address, "--port", str(port), *kind, stdin=zero)
        time.sleep(WARM)
        bytes_before, cpu_before, began = reader.bytes, processor_seconds(network.started), time.monotonic()
        time.sleep(args.seconds)
        seconds = time.monotonic() - began
        carried = reader.bytes - bytes_before
        cpu = processor_seconds(network.started) - cpu_before
        if not carried:
            raise RuntimeError(f"{name}: nothing arrives")
        network.cut_better()
        reader.watched = time.monotonic()
        time.sleep(args.watch)
        reader.pause(time.monotonic())
        return {"mbit_s": carried * 8e-6 / seconds, "cpu_s_per_gb": cpu / (carried * 1e-9), "stall_s": reader.longest}


def main():
    parser = argparse.ArgumentParser(description="TCP over two unlike uplinks: TCP, MPTCP, byway forward")
    parser.add_argument("byway")
    parser.add_argument("--stream", required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--watch", type=float, default=10)
    args = parser.parse_args()
    runs = {name: [] for name in CONTENDERS}
    with tempfile.TemporaryDirectory() as folder:
        for n in range(args.runs):
            for name, of_it in runs.items():
                of_it.append(one(name, args, folder))
                print(f"run {n + 1} of {args.runs}, {name}: {of_it[-1]}", file=sys.stderr)
    longest = 0.999 * args.watch
    rows = []
    for name, of_it in runs.items():
        row = {key: statistics.median(run[key] for run in of_it) for key in of_it[0]}
        row |= {"name": name, "stall_worst_s": max(run["stall_s"] for run in of_it), "runs": of_it}
        rows.append(row)
    print(f"forward: medians of {args.runs} runs, 200 Mbit/s (20 ms) and 5 Mbit/s (40 ms), the better uplink is cut\n")
    print(f"{'':30} {'Mbit/s':>8} {'CPU s a GB':>11} {'longest stall':>14} {'worst run':>10}")
    for row in rows:
        stalls = [f"> {args.watch:.0f} s" if row[k] > longest else f"{row[k] * 1000:.0f} ms" for k in ("stall_s", "stall_worst_s")]
        print(f"{row['name']:30} {row['mbit_s']:8.1f} {row['cpu_s_per_gb']:11.2f} {stalls[0]:>14} {stalls[1]:>10}")
    print(json.dumps({"name": "forward", "watch_s": args.watch, "contenders": rows}))
    problems = problems_of({row["name"]: row for row in rows}, longest)
    for problem in problems:
        print(f"forward fails: {problem}", file=sys.stderr)
    return 1 if problems else 0


def problems_of(rows, longest):
    plain, multipath, one, both = (rows[name] for name in CONTENDERS)
    found = []
    if plain["stall_s"] <= longest:
        found.append("plain TCP went on after its uplink was cut: the cut is none")
    for row in (one, both):
        if row["stall_s"] > min(LONGEST_STALL, multipath["stall_s"]):
            found.append(f"{row['name']} stalls for {row['stall_s']:.3f} s; MPTCP for {multipath['stall_s']:.3f} s, {LONGEST_STALL} s at most")
    if both["mbit_s"] < LEAST_BOTH * one["mbit_s"]:
        found.append(f"with both uplinks at once {both['mbit_s']:.1f} Mbit/s, with the better one alone {one['mbit_s']:.1f}")
    return found


sys.exit(main())
