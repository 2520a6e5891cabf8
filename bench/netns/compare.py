#!/usr/bin/env python3
"""byway beside TCP over a link of 100 Mbit/s between network namespaces (root, Linux).

    compare.py BYWAY lossy [--runs N] --stream FILE        one transfer after the other, 1 and 5 % loss; then what reaches
                                                           the reader in seven seconds, without loss and with 1 %
    compare.py BYWAY lossy --quick                         three runs of 10 MiB at 5 % alone, as one of a TCP scatters from
                                                           31 to 79; one more of a flow whose first packet, INIT or SYN,
                                                           was lost: it waits for a second
    compare.py BYWAY far [--runs N] --stream FILE          bytes to the reader over round trips of 20 and 90 ms
    compare.py BYWAY fairness [--runs N] --stream FILE     two transfers at a time in one queue, near and far

The link is that of a bridge in a namespace of its own, with tbf (25 ms of queue). The queue must not be on the
sender's host: there Linux keeps no more than a millisecond of a TCP connection's data in it (TCP small queues), and the
other flow has the rest. nft drops packets at random where they arrive, before the receiver sees them, in the direction of
the data. A kernel without netem has no delay to add, so round trips are those of the queue: 0.1 to 25 ms.
Offloads are off, so that one drop is one packet. Over round trips of 20 and 90 ms `byway emulate` is in place of
the bridge; it delays and drops, and its TCP is bench/tcp/stream.c, compiled. The last line is JSON.

The status is 1, with a sentence, if by the medians byway is
- lossy: behind the better TCP at 5 %, or below 0.98 of it at 1 % or without loss, where all fill the link and the bytes of headers decide; or, to the
  reader, below 0.998 of what a TCP carries in as many packets (with and without UDP);
- far: behind the better TCP at 1 or 5 %, or below 0.98 of it without loss, over either round trip;
- fairness: outside 0.15 to 0.65 of the queue beside a TCP, in any network. TCP's own share beside TCP goes to 0.74; a flow
  that has less than 0.15 hardly goes on.
As a control of the first, rfc9260 must be behind the better TCP at 5 % at the bridge; else the status is 1, too.
"""

import argparse, json, os, socket, statistics, subprocess, sys, tempfile, threading, time

RATE, QUEUE_MS, MIB = "100mbit", 25, 1 << 20
# byway with nothing between IP and SCTP.
BARE = "byway, without UDP"
A, R, B = (f"bw{end}{os.getpid()}" for end in "arb")
HERE, THERE = "10.213.0.1", "10.213.0.2"
TCP_PORT = 5201


def sh(*words):
    subprocess.run(words, check=True, capture_output=True)


def inside(ns, *words):
    return ["ip", "netns", "exec", ns, *words]


def ended(process, seconds=300):
    """The status of a process that ends by itself. `Popen.wait` with a timeout looks every 50 ms, which would be in the times."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        return process.wait()
    finally:
        timer.cancel()


class Link:
    """The two hosts and the bridge R between, for a `with`."""

    def __enter__(self):
        for ns in (A, R, B):
            sh("ip", "netns", "add", ns)
            sh(*inside(ns, "ip", "link", "set", "lo", "up"))
        sh(*inside(R, "ip", "link", "add", "bridge0", "type", "bridge"))
        sh(*inside(R, "ip", "link", "set", "bridge0", "up"))
        for ns, address, port in ((A, HERE, "port-a"), (B, THERE, "port-b")):
            sh("ip", "link", "add", "v0", "netns", ns, "type", "veth", "peer", "name", port, "netns", R)
            sh(*inside(ns, "ip", "addr", "add", f"{address}/24", "dev", "v0"))
            sh(*inside(R, "ip", "link", "set", port, "master", "bridge0"))
            for there, card in ((ns, "v0"), (R, port)):
                sh(*inside(there, "ip", "link", "set", card, "up"))
                sh(*inside(there, "ethtool", "-K", card, "tso", "off", "gso", "off", "gro", "off",
                           "tx-udp-segmentation", "off"))
            sh(*inside(R, "tc", "qdisc", "add", "dev", port, "root", "tbf", "rate", RATE,
                       "burst", "5kb", "latency", f"{QUEUE_MS}ms"))
        return self

    def __exit__(self, *_):
        for ns in (A, R, B):
            subprocess.run(["ip", "netns", "del", ns], capture_output=True)

    def rules(self, loss=0, ports=(), first=None):
        """Drops `loss` percent of what comes from A, and counts what comes to `ports`. `first`: packets that are counted
        before any is dropped."""
        subprocess.run(inside(B, "nft", "flush", "ruleset"), capture_output=True)
        rules = [f"{kind} dport {port} counter" for kind, port in ports]
        if loss:
            rules.insert(0, f"ip saddr {HERE} numgen random mod 1000 < {loss * 10} drop")
        if first:
            rules.insert(0, f"{first} counter")
        text = "table inet t { chain c { type filter hook prerouting priority -300;\n"
        text += "\n".join(rules) + "\n}\n}\n"
        subprocess.run(inside(B, "nft", "-f", "-"), input=text, text=True, check=True)

    def counted(self, unit="bytes"):
        text = subprocess.run(inside(B, "nft", "-j", "list", "ruleset"), check=True,
                              capture_output=True, text=True).stdout
        rules = [r["rule"]["expr"] for r in json.loads(text)["nftables"] if "rule" in r]
        return [e["counter"][unit] for r in rules for e in r if "counter" in e]


class Byway:
    """A file sent by `byway send`."""

    def __init__(self, program, preset, port, udp=True):
        self.name, self.program, self.preset = preset if udp else BARE, program, preset
        self.port, self.kind = port, "udp"
        self.options, self.at = ([], f":{port}") if udp else (["--encapsulation", "none"], "")
        # The type of the first chunk, behind the headers of UDP and SCTP: INIT.
        self.begins = f"udp dport {port} @th,160,8 1" if udp else "ip protocol 132 @th,96,8 1"

    def start(self, size):
        self.dir = tempfile.TemporaryDirectory()
        name = os.path.join(self.dir.name, f"data{self.port}")
        with open(name, "wb") as f:
            f.truncate(size)
        inbox = os.path.join(self.dir.name, "in")
        os.mkdir(inbox)
        common = ["--preset", self.preset, "-q", *self.options]
        quiet = {"stderr": subprocess.DEVNULL}
        self.receiver = subprocess.Popen(
            inside(B, self.program, "recv", "--unprotected", "--bind", f"{THERE}{self.at}", "--once",
                   "--dir", inbox, *common), **quiet)
        time.sleep(0.5)
        self.began = time.monotonic()
        self.sender = subprocess.Popen(
            inside(A, self.program, "send", "--to", f"{THERE}{self.at}", "--bind", HERE,
                   name, *common), **quiet)

    def wait(self):
        if ended(self.sender) != 0:
            sys.exit(f"byway send ({self.name}) failed")
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
input()
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
        self.begins = f"tcp dport {port} tcp flags syn"

    def start(self, size):
        def python(ns, program, **pipes):
            for word, value in (("SIZE", size), ("PORT", self.port), ("THERE", THERE),
                                ("ALGORITHM", self.algorithm)):
                program = program.replace(word, str(value))
            return subprocess.Popen(inside(ns, sys.executable, "-c", program), **pipes)

        self.receiver = python(B, RECEIVE)
        self.sender = python(A, SEND, stdin=subprocess.PIPE, text=True)
        time.sleep(0.5)
        # The start of Python is not TCP's.
        self.began = time.monotonic()
        self.sender.stdin.write("\n")
        self.sender.stdin.close()

    def wait(self):
        if ended(self.sender) != 0:
            sys.exit(f"{self.name} failed")
        took = time.monotonic() - self.began
        self.stop()
        return took

    stop = lambda self: [p.kill() or p.wait() for p in (self.sender, self.receiver)]


TCPS = ("tcp-cubic", "tcp-reno")
# What byway must reach of the better TCP, by loss in per cent.
LEAST_NEAR, LEAST_FAR = {0: 0.98, 1: 0.98, 5: 1.0}, {0: 0.98, 1: 1.0, 5: 1.0}
# The same of what reaches the reader, beside what a packet carries: seven seconds have 0.1 % of scatter and more.
LEAST_STEADY = 0.998
# Its share beside a TCP.
LEAST_SHARE, MOST_SHARE = 0.15, 0.65


def behind(cell, least, flow="byway"):
    """A sentence if the flow has less than `least` of the better TCP; figures by flow."""
    # A program that did not go on says nothing of the others.
    if none := [name for name, rate in cell.items() if rate <= 0]:
        return f"nothing came by {' and '.join(none)}"
    best = max(TCPS, key=lambda name: cell[name])
    if cell[flow] < least * cell[best]:
        return f"{flow} reaches {cell[flow]} Mbit/s, {cell[flow] / cell[best]:.3f} of {best}'s {cell[best]}; {least} is the least"
    return None


def problems_of_losses(cells, least, control=None):
    """What is wrong with the cells, which are by (name, loss). `control`: a flow that must be behind at 5 %."""
    found = []
    for (name, loss), cell in cells.items():
        if loss in least and (problem := behind(cell, least[loss])):
            found.append(f"{name}: {problem}")
        if loss == 5 and control and not behind(cell, least[5], control):
            found.append(f"{name}: {control} is not behind TCP with {cell[control]} Mbit/s, so this shows nothing of byway")
    return found


def problems_of_shares(shares):
    """What is wrong with the shares, by network and pair."""
    found = []
    for network, pairs in shares.items():
        for names, share in pairs.items():
            if names.startswith("byway beside tcp") and not LEAST_SHARE <= share["median"] <= MOST_SHARE:
                found.append(f"{network}, {names}: the share is {share['median']}, not within {LEAST_SHARE} and {MOST_SHARE}")
    return found


def rate_of(link, flow, loss, size, tries):
    """Mbit/s of a run. One whose first packet was lost is told, and another one counts, of so many: else a lost INIT or
    SYN, in one of twenty runs, would be most of the time of a short one."""
    for left in reversed(range(tries)):
        link.rules(loss, first=flow.begins)
        flow.start(size)
        rate = size * 8 / flow.wait() / 1e6
        (begun,) = link.counted("packets")
        if begun == 1 or not left:
            return rate
        print(f"{flow.name}: its first packet left {begun} times, {rate:.1f} Mbit/s; another run counts", flush=True)


def lossy(link, program, runs, losses=(0, 1, 5), size=25 * MIB, tries=1):
    flows = [Byway(program, "byway", 9899), Byway(program, "byway", 9899, udp=False), Byway(program, "rfc9260", 9899),
             Tcp("cubic"), Tcp("reno")]
    cells = {}
    for loss in losses:
        rates = {f.name: [] for f in flows}
        for _ in range(runs):
            for f in flows:
                rates[f.name].append(rate_of(link, f, loss, size, tries))
        cells[f"{loss}%", loss] = {n: round(statistics.median(r), 1) for n, r in rates.items()}
        print(f"{loss} % loss, Mbit/s, median of {runs}: {cells[f'{loss}%', loss]}", flush=True)
    return figures_of(cells), problems_of_losses(cells, LEAST_NEAR, "rfc9260")


def steady(link, program, stream, runs, losses=(0, 1)):
    """What the readers get from the third second to the tenth: neither the beginning nor the end of a program is in it. All fill
    so short a way, so what a packet carries decides: 1448 bytes with TCP, 1452 with SCTP, 1444 with SCTP over UDP."""
    names = ("byway", BARE, *TCPS)
    cells, problems = {}, []
    for loss in losses:
        rates = {name: [] for name in names}
        for _ in range(runs):
            for name in names:
                link.rules(loss)
                flow = programs(program, stream, name, here=THERE)
                rates[name] += rates_at_readers((A, B), [flow], 3, 7)
        cell = {n: round(statistics.median(r), 2) for n, r in rates.items()}
        cells[f"{loss}%"] = cell
        print(f"{loss} % loss, Mbit/s to the reader, median of {runs}: {cell}", flush=True)
        for name, carried in (("byway", 1444 / 1448), (BARE, 1.0)):
            if problem := behind(cell, LEAST_STEADY * carried, name):
                problems.append(f"{loss}%, to the reader: {problem}")
    return cells, problems


def figures_of(cells):
    ratios = [cell["byway"] / max([cell[name] for name in TCPS] + [0.001]) for (_, loss), cell in cells.items() if loss]
    return {"ratio": round(min(ratios), 3), "mbit_per_s": {name: cell for (name, _), cell in cells.items()}}


# What shares a queue with what. The pairs without `byway` show what TCP and the plain standard do beside each other.
PAIRS = (("byway", "tcp-cubic"), ("byway", "tcp-reno"), ("byway", "rfc9260"), ("rfc9260", "tcp-cubic"),
         ("rfc9260", "tcp-reno"), ("tcp-cubic", "tcp-cubic"), ("tcp-cubic", "tcp-reno"))


def fairness(link, program, runs, stream, seconds=12):
    def flow(name, second):
        kind, _, algorithm = name.partition("-")
        return Tcp(algorithm, TCP_PORT + second) if kind == "tcp" else Byway(program, name, 9899 + second)

    def near(names, swapped):
        pair = [flow(name, second) for second, name in enumerate(names)]
        link.rules(ports=[(f.kind, f.port) for f in pair])
        for f in reversed(pair) if swapped else pair:
            f.start(400 * MIB)
        time.sleep(3)
        before = link.counted()
        time.sleep(seconds)
        counted = [b - a for a, b in zip(before, link.counted())]
        for f in pair:
            f.stop()
        return counted

    def beside(rtt, names, swapped):
        # With longer round trips it takes longer until the first who came has given way.
        with Far(program, rtt, 0) as emulated:
            flows = [programs(program, stream, name, second) for second, name in enumerate(names)]
            order = flows[::-1] if swapped else flows
            rates = emulated.rates(order, warm_up=8, seconds=20)
            return rates[::-1] if swapped else rates

    networks = {"0 ms": near} | {f"{rtt} ms": (lambda *a, rtt=rtt: beside(rtt, *a)) for rtt in (20, 90)}
    shares = {}
    for network, run in networks.items():
        shares[network] = {}
        for names in PAIRS:
            # Each of them begins first as often as the other.
            pairs = [run(names, number % 2 == 1) for number in range(runs)]
            each = [a / (a + b) for a, b in pairs]
            share = {"median": round(statistics.median(each), 3), "least": round(min(each), 3), "most": round(max(each), 3)}
            shares[network][" beside ".join(names)] = share
            print(f"{network}, {' beside '.join(names)}: share {share}", flush=True)
    share = shares["0 ms"]["byway beside tcp-cubic"]["median"]
    ratio = round(share / (1 - share), 3) if share < 1 else None
    return {"ratio": ratio, "shares": shares}, problems_of_shares(shares)


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

    def rates(self, flows, warm_up=3, seconds=12):
        return rates_at_readers((f"{self.name}-sender", f"{self.name}-receiver"), flows, warm_up, seconds)


def rates_at_readers(hosts, flows, warm_up, seconds):
    """Mbit/s that come out of the receivers' standard output, of flows that go on at once."""
    (sending, receiving), got, processes, readers = hosts, [0] * len(flows), [], []

    def count(number, pipe):
        while block := os.read(pipe.fileno(), 1 << 18):
            got[number] += len(block)

    for number, (receive, send) in enumerate(flows):
        receiver = subprocess.Popen(inside(receiving, *receive), stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL)
        readers.append(threading.Thread(target=count, args=(number, receiver.stdout)))
        readers[-1].start()
        time.sleep(0.5)
        with open("/dev/zero", "rb") as zeros:
            sender = subprocess.Popen(inside(sending, *send), stdin=zeros,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        processes += [sender, receiver]
    time.sleep(warm_up)
    before, began = got[:], time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - began
    rates = [(now - then) * 8 / took / 1e6 for now, then in zip(got, before)]
    for p in processes:
        p.kill()
        p.wait()
    for reader in readers:
        reader.join()
    return rates


def programs(program, stream, name, second=0, here="10.1.0.2"):
    """The commands of a receiver at this address and of a sender; without more, in an emulated network."""
    kind, _, algorithm = name.partition("-")
    if kind == "tcp":
        port = str(TCP_PORT + second)
        return ([stream, "recv", "--port", port],
                [stream, "send", "--port", port, "--to", here, "--congestion", algorithm])
    at, options = f"{here}:{9899 + second}", ["--quiet", "--preset", name]
    if name == BARE:
        at, options = here, ["--quiet", "--preset", "byway", "--encapsulation", "none"]
    return ([program, "listen", "--unprotected", *options, "--bind", at], [program, "cat", *options, "--to", at])


def far(program, stream, runs):
    flows = {name: programs(program, stream, name) for name in ("byway", "rfc9260", "tcp-cubic", "tcp-reno")}
    cells = {}
    for rtt in (20, 90):
        for loss in (0, 1, 5):
            rates = {name: [] for name in flows}
            for _ in range(runs):
                for name, flow in flows.items():
                    with Far(program, rtt, loss) as link:
                        rates[name] += link.rates([flow])
            cell = cells[f"{rtt} ms, {loss} %", loss] = {n: round(statistics.median(r), 2) for n, r in rates.items()}
            print(f"{rtt} ms, {loss} % loss, Mbit/s, median of {runs}: {cell}", flush=True)
    return figures_of(cells), problems_of_losses(cells, LEAST_FAR)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("byway", help="the command byway, a release build")
    p.add_argument("what", choices=("lossy", "fairness", "far"))
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--stream", help="bench/tcp/stream.c, compiled; not for --quick")
    p.add_argument("--quick", action="store_true", help="of lossy: three short runs at 5 %%")
    a = p.parse_args()
    if a.quick and a.what != "lossy":
        p.error("--quick is of lossy alone")
    if os.geteuid() != 0:
        sys.exit("needs root: network namespaces, tc and nft")
    program, stream = os.path.abspath(a.byway), a.stream and os.path.abspath(a.stream)
    if not a.quick and not stream:
        p.error(f"{a.what} needs --stream")
    if a.what == "far":
        figures, problems = far(program, stream, a.runs)
    else:
        with Link() as link:
            if a.quick:
                a.runs = 3
                figures, problems = lossy(link, program, a.runs, (5,), 10 * MIB, tries=3)
            elif a.what == "lossy":
                figures, problems = lossy(link, program, a.runs)
                figures["reader_mbit_per_s"], more = steady(link, program, stream, a.runs)
                problems += more
            else:
                figures, problems = fairness(link, program, a.runs, stream)
    for problem in problems:
        print(f"{a.what} fails: {problem}", flush=True)
    print(json.dumps({"name": a.what, "runs": a.runs, **figures}))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
