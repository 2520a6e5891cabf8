#!/usr/bin/env python3
"""byway beside TCP over a link of 100 Mbit/s between two network namespaces (root, Linux).

    compare.py BYWAY lossy [--runs N]      one transfer after the other, 1 and 5 % loss
    compare.py BYWAY fairness [--runs N]   two transfers at a time in one queue

    compare.py BYWAY far [--runs N] [--stream FILE]   bytes to the reader over round trips of 20 and 90 ms

The link is a veth pair with tbf (25 ms of queue). nft drops packets at random where they
arrive, before the receiver sees them, in the direction of the data. A kernel without netem
has no delay to add, so round trips are those of the queue: 0.1 to 25 ms. Offloads are off, so
that one drop is one packet. `far` has `byway emulate` in place of the veth pair, which delays and
drops, and needs bench/tcp/stream.c compiled. The last line is JSON.
"""

import argparse, json, os, socket, statistics, subprocess, sys, tempfile, threading, time

RATE, QUEUE_MS, MIB = "100mbit", 25, 1 << 20
A, B = f"bwa{os.getpid()}", f"bwb{os.getpid()}"
HERE, THERE = "10.213.0.1", "10.213.0.2"
TCP_PORT = 5201


def sh(*words):
    subprocess.run(words, check=True, capture_output=True)


def inside(ns, *words):
    return ["ip", "netns", "exec", ns, *words]


class Link:
    """The two namespaces, for a `with`."""

    def __enter__(self):
        for ns in (A, B):
            sh("ip", "netns", "add", ns)
        sh("ip", "link", "add", "v0", "netns", A, "type", "veth", "peer", "name", "v0", "netns", B)
        for ns, address in ((A, HERE), (B, THERE)):
            sh(*inside(ns, "ip", "addr", "add", f"{address}/24", "dev", "v0"))
            sh(*inside(ns, "ip", "link", "set", "v0", "up"))
            sh(*inside(ns, "ip", "link", "set", "lo", "up"))
            sh(*inside(ns, "ethtool", "-K", "v0", "tso", "off", "gso", "off", "gro", "off",
                       "tx-udp-segmentation", "off"))
            sh(*inside(ns, "tc", "qdisc", "add", "dev", "v0", "root", "tbf", "rate", RATE,
                       "burst", "5kb", "latency", f"{QUEUE_MS}ms"))
        return self

    def __exit__(self, *_):
        for ns in (A, B):
            subprocess.run(["ip", "netns", "del", ns], capture_output=True)

    def rules(self, loss=0, ports=()):
        """Drops `loss` percent of what comes from A, and counts what comes to `ports`."""
        subprocess.run(inside(B, "nft", "flush", "ruleset"), capture_output=True)
        rules = [f"{kind} dport {port} counter" for kind, port in ports]
        if loss:
            rules.insert(0, f"ip saddr {HERE} numgen random mod 1000 < {loss * 10} drop")
        text = "table inet t { chain c { type filter hook prerouting priority -300;\n"
        text += "\n".join(rules) + "\n}\n}\n"
        subprocess.run(inside(B, "nft", "-f", "-"), input=text, text=True, check=True)

    def counted(self):
        text = subprocess.run(inside(B, "nft", "-j", "list", "ruleset"), check=True,
                              capture_output=True, text=True).stdout
        rules = [r["rule"]["expr"] for r in json.loads(text)["nftables"] if "rule" in r]
        return [e["counter"]["bytes"] for r in rules for e in r if "counter" in e]


class Byway:
    """A file sent by `byway send`."""

    def __init__(self, program, preset, port):
        self.name, self.program, self.preset = preset, program, preset
        self.port, self.kind = port, "udp"

    def start(self, size):
        self.dir = tempfile.TemporaryDirectory()
        name = os.path.join(self.dir.name, f"data{self.port}")
        with open(name, "wb") as f:
            f.truncate(size)
        inbox = os.path.join(self.dir.name, "in")
        os.mkdir(inbox)
        common = ["--preset", self.preset, "-q"]
        quiet = {"stderr": subprocess.DEVNULL}
        self.receiver = subprocess.Popen(
            inside(B, self.program, "recv", "--unprotected", "--bind", f"{THERE}:{self.port}", "--once",
                   "--dir", inbox, *common), **quiet)
        time.sleep(0.5)
        self.began = time.monotonic()
        self.sender = subprocess.Popen(
            inside(A, self.program, "send", "--to", f"{THERE}:{self.port}", "--bind", HERE,
                   name, *common), **quiet)

    def wait(self):
        if self.sender.wait(timeout=300) != 0:
            sys.exit(f"byway send ({self.preset}) failed")
        took = time.monotonic() - self.began
        self.stop()
        return took

    def stop(self):
        for p in (self.receiver, self.sender):
            p.terminate()
            p.wait()
        self.dir.cleanup()


RECEIVE = """
import socket
s = socket.create_server(("", PORT))
c, _ = s.accept()
n = 0
while n < SIZE and (b := c.recv(1 << 18)): n += len(b)
c.sendall(b"x")
"""
SEND = """
import socket
s = socket.socket()
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"ALGORITHM")
s.connect(("THERE", PORT))
data, left = bytes(1 << 18), SIZE
while left > 0: left -= s.send(data[:left])
s.recv(1)
"""


class Tcp:
    """A TCP connection with this congestion control."""

    def __init__(self, algorithm, port=TCP_PORT):
        self.name, self.algorithm, self.port, self.kind = f"tcp-{algorithm}", algorithm, port, "tcp"

    def start(self, size):
        def python(ns, text):
            for word, value in (("SIZE", size), ("PORT", self.port), ("THERE", THERE),
                                ("ALGORITHM", self.algorithm)):
                text = text.replace(word, str(value))
            return subprocess.Popen(inside(ns, sys.executable, "-c", text))

        self.receiver = python(B, RECEIVE)
        time.sleep(0.5)
        self.began = time.monotonic()
        self.sender = python(A, SEND)

    def wait(self):
        if self.sender.wait(timeout=300) != 0:
            sys.exit(f"{self.name} failed")
        took = time.monotonic() - self.began
        self.stop()
        return took

    stop = lambda self: [p.kill() or p.wait() for p in (self.sender, self.receiver)]


def lossy(link, program, runs):
    size = 25 * MIB
    flows = [Byway(program, "byway", 9899), Byway(program, "rfc9260", 9899), Tcp("cubic"), Tcp("reno")]
    cells = {}
    for loss in (0, 1, 5):
        link.rules(loss)
        rates = {f.name: [] for f in flows}
        for _ in range(runs):
            for f in flows:
                f.start(size)
                rates[f.name].append(size * 8 / f.wait() / 1e6)
        cells[f"{loss}%"] = {n: round(statistics.median(r), 1) for n, r in rates.items()}
        print(f"{loss} % loss, Mbit/s, median of {runs}: {cells[f'{loss}%']}", flush=True)
    ratios = [c["byway"] / max(c["tcp-cubic"], c["tcp-reno"]) for l, c in cells.items() if l != "0%"]
    return {"ratio": round(min(ratios), 3), "mbit_per_s": cells}


def fairness(link, program, runs, seconds=12):
    pairs = [
        (Byway(program, "byway", 9899), Tcp("cubic")),
        (Byway(program, "byway", 9899), Tcp("reno")),
        (Byway(program, "byway", 9899), Byway(program, "rfc9260", 9900)),
        (Byway(program, "rfc9260", 9899), Tcp("cubic")),
        (Tcp("cubic"), Tcp("cubic", TCP_PORT + 1)),
    ]
    shares = {}
    for pair in pairs:
        all_shares = []
        for run in range(runs):
            link.rules(ports=[(f.kind, f.port) for f in pair])
            # Each of them begins first as often as the other.
            for f in pair if run % 2 == 0 else reversed(pair):
                f.start(400 * MIB)
            time.sleep(3)
            before = link.counted()
            time.sleep(seconds)
            bytes_ = [b - a for a, b in zip(before, link.counted())]
            for f in pair:
                f.stop()
            all_shares.append(bytes_[0] / sum(bytes_))
        name = " beside ".join(f.name for f in pair)
        shares[name] = {"median": round(statistics.median(all_shares), 3),
                        "least": round(min(all_shares), 3), "most": round(max(all_shares), 3)}
        print(f"{name}: share {shares[name]}", flush=True)
    share = shares["byway beside tcp-cubic"]["median"]
    return {"ratio": round(share / (1 - share), 3), "shares": shares}


class Far:
    """An emulated link of 100 Mbit/s, for a `with`."""

    def __init__(self, program, rtt_ms, loss):
        self.program, self.name = program, f"bwc{os.getpid()}"
        # 25 ms of queue, as above; losses in the direction of the data alone.
        self.scenario = f"""
limit = "600 s"
[traffic]
kind = "bulk"
size = "1 MiB"
[[path]]
rate = "100 Mbit/s"
delay = "{rtt_ms * 500} us"
queue = "208 packets"
loss = "{loss} %"
reverse = {{ loss = "0 %" }}
"""

    def __enter__(self):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".toml")
        self.file.write(self.scenario)
        self.file.flush()
        self.process = subprocess.Popen(
            [self.program, "emulate", self.file.name, "--quiet", "--name", self.name, "--", "sleep", "600"],
            stderr=subprocess.DEVNULL)
        for _ in range(400):
            shown = subprocess.run(["ip", "-n", f"{self.name}-receiver", "-4", "addr", "show", "up"],
                                   capture_output=True, text=True)
            if "10.1.0.2" in shown.stdout:
                return self
            time.sleep(0.01)
        sys.exit("byway emulate has no network after four seconds")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def rate(self, receive, send, warm_up=3, seconds=12):
        """Mbit/s that come out of the receiver's standard output."""
        receiver = subprocess.Popen(inside(f"{self.name}-receiver", *receive), stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL)
        got = 0

        def count():
            nonlocal got
            while block := os.read(receiver.stdout.fileno(), 1 << 18):
                got += len(block)

        reader = threading.Thread(target=count)
        reader.start()
        time.sleep(0.5)
        with open("/dev/zero", "rb") as zeros:
            sender = subprocess.Popen(inside(f"{self.name}-sender", *send), stdin=zeros,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(warm_up)
        before, began = got, time.monotonic()
        time.sleep(seconds)
        rate = (got - before) * 8 / (time.monotonic() - began) / 1e6
        for p in (sender, receiver):
            p.kill()
            p.wait()
        reader.join()
        return rate


def far(program, stream, runs):
    def byway(preset):
        return ([program, "listen", "--unprotected", "--quiet", "--preset", preset, "--bind", "10.1.0.2"],
                [program, "cat", "--quiet", "--preset", preset, "--to", "10.1.0.2"])

    def tcp(algorithm):
        return ([stream, "recv", "--port", str(TCP_PORT)],
                [stream, "send", "--port", str(TCP_PORT), "--to", "10.1.0.2", "--congestion", algorithm])

    flows = {"byway": byway("byway"), "rfc9260": byway("rfc9260"), "tcp-cubic": tcp("cubic"), "tcp-reno": tcp("reno")}
    cells = {}
    for rtt in (20, 90):
        for loss in (0, 1, 5):
            rates = {name: [] for name in flows}
            for _ in range(runs):
                for name, (receive, send) in flows.items():
                    with Far(program, rtt, loss) as link:
                        rates[name].append(link.rate(receive, send))
            cell = cells[f"{rtt} ms, {loss} %"] = {n: round(statistics.median(r), 2) for n, r in rates.items()}
            print(f"{rtt} ms, {loss} % loss, Mbit/s, median of {runs}: {cell}", flush=True)
    ratios = [c["byway"] / max(c["tcp-cubic"], c["tcp-reno"]) for l, c in cells.items() if " 0 %" not in l]
    return {"ratio": round(min(ratios), 3), "mbit_per_s": cells}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("byway", help="the command byway, a release build")
    p.add_argument("what", choices=("lossy", "fairness", "far"))
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--stream", help="bench/tcp/stream.c, compiled; for far")
    a = p.parse_args()
    if os.geteuid() != 0:
        sys.exit("needs root: network namespaces, tc and nft")
    if a.what == "far":
        figures = far(os.path.abspath(a.byway), os.path.abspath(a.stream or sys.exit("far needs --stream")), a.runs)
    else:
        with Link() as link:
            figures = {"lossy": lossy, "fairness": fairness}[a.what](link, os.path.abspath(a.byway), a.runs)
    print(json.dumps({"name": a.what, "runs": a.runs, **figures}))


main()
