"""Two hosts with two links, and a stranger who reaches the second, in network namespaces."""

import os
import subprocess
import threading

RATE = "100mbit"


def run(*words: str, check: bool = True) -> None:
    """Runs a command; what it says is shown only when it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")


class Net:
    """Namespaces a (senders), z (receivers) and h (the stranger)."""

    def __init__(self) -> None:
        self.base = f"chaos{os.getpid()}"
        self.cut_paths: dict[int, int] = {0: 0, 1: 0}
        self.cutting = threading.Lock()
        for ns in "azh":
            run("ip", "netns", "add", self.name(ns))
            run("ip", "-n", self.name(ns), "link", "set", "lo", "up")
        for path in (0, 1):
            self.cable("a", f"e{path}", f"10.97.{path}.1", "z", f"e{path}", f"10.97.{path}.2")
            for ns in "az":
                self.rate(ns, path, RATE)
        self.cable("h", "e2", "10.97.2.1", "z", "e2", "10.97.2.2")
        rules = "add table inet chaos; add set inet chaos down { type ifname; };"
        rules += " add chain inet chaos in { type filter hook prerouting priority -300; };"
        rules += " add rule inet chaos in iifname @down drop"
        for ns in "az":
            self.on(ns, "nft", rules)

    def name(self, ns: str) -> str:
        return f"{self.base}{ns}"

    def enter(self, ns: str) -> list[str]:
        """The words before a command that runs in a namespace."""
        return ["nsenter", f"--net=/run/netns/{self.name(ns)}", "--"]

    def on(self, ns: str, *words: str, check: bool = True) -> None:
        run(*self.enter(ns), *words, check=check)

    def cable(self, ns: str, card: str, ip: str, ns2: str, card2: str, ip2: str) -> None:
        a, b = self.name(ns), self.name(ns2)
        run("ip", "-n", a, "link", "add", card, "type", "veth", "peer", "name", card2, "netns", b)
        for at, dev, address in ((a, card, ip), (b, card2, ip2)):
            run("ip", "-n", at, "addr", "add", f"{address}/24", "dev", dev)
            run("ip", "-n", at, "link", "set", dev, "up")

    def rate(self, ns: str, path: int, rate: str) -> None:
        words = f"tc qdisc replace dev e{path} root tbf rate {rate} burst 32k limit 128k"
        self.on(ns, *words.split())

    def cut(self, path: int, cut: bool) -> None:
        """Drops what arrives on a path, at both ends. Cuts that overlap end with the last."""
        # Of two events at once the second must find what the first has done, its rules too.
        with self.cutting:
            before = self.cut_paths[path]
            self.cut_paths[path] = before + (1 if cut else -1)
            if (before > 0) == (self.cut_paths[path] > 0):
                return
            verb = "add" if cut else "delete"
            for ns in "az":
                self.on(ns, "nft", f"{verb} element inet chaos down {{ e{path} }}")

    def card(self, path: int, up: bool) -> None:
        run("ip", "-n", self.name("a"), "link", "set", f"e{path}", "up" if up else "down")

    def close(self) -> None:
        for ns in "azh":
            run("ip", "netns", "del", self.name(ns), check=False)
