"""The programs of a run: a receiver of files, senders who do not give up, and a pipe with a
slow reader. Each accounts for every byte."""

import hashlib
import pathlib
import signal
import subprocess
import threading
import time

import plan
from net import Net

TO = "10.97.0.2,10.97.1.2"
FROM = "10.97.0.1,10.97.1.1"

# How a command of byway may end here: well, failed for a reason that it says, lost, refused,
# or by a signal of ours.
FINE = {0, 1, 3, 4, 130, 143, -signal.SIGKILL}


def appears(file: pathlib.Path, seconds: float) -> bool:
    """Waits until a file is there, for so long."""
    end = time.monotonic() + seconds
    while not file.exists() and time.monotonic() < end:
        time.sleep(0.02)
    return file.exists()


class Book:
    """What was found wrong, and the totals. Threads share it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.wrong: list[str] = []
        self.totals: dict[str, int] = {}

    def add(self, what: str, n: int = 1) -> None:
        with self.lock:
            self.totals[what] = self.totals.get(what, 0) + n

    def blame(self, what: str) -> None:
        with self.lock:
            self.wrong.append(what)

    def ended(self, who: str, status: int, log: pathlib.Path, since: int) -> None:
        """A command has ended, whose output begins at this place of its log."""
        said = log.read_bytes()[since:].decode(errors="replace") if log.exists() else ""
        if "panicked" in said:
            self.blame(f"{who} panicked: {said[-400:]}")
        elif status == -signal.SIGTERM and not said:
            # It came before the command could take signals over: two events at once.
            self.add("terminated_at_start")
        elif status not in FINE:
            self.blame(f"{who} ended with status {status}: {said[-400:]}")


class Command:
    """A command that runs again after each end, until it is told not to."""

    def __init__(self, who: str, net: Net, ns: str, words: list[str], book: Book, work: pathlib.Path) -> None:
        self.who, self.net, self.ns, self.words, self.book = who, net, ns, words, book
        self.log = work / f"{who}.log"
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        # Where the output of this life begins in the log.
        self.since = 0

    def start(self, stdin: int | None = None, stdout: int | None = None) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            self.since = log.tell()
            started = subprocess.Popen(
                [*self.net.enter(self.ns), *self.words],
                stdin=stdin if stdin is not None else subprocess.DEVNULL,
                stdout=stdout if stdout is not None else log,
                stderr=log,
            )
        with self.lock:
            self.process = started
        return started

    def signal(self, which: int) -> bool:
        """Sends a signal if it runs."""
        with self.lock:
            if self.process is None or self.process.poll() is not None:
                return False
            self.process.send_signal(which)
            return True

    def wait(self, limit: float | None = None) -> int | None:
        with self.lock:
            process = self.process
        if process is None:
            return 0
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        self.book.ended(self.who, status, self.log, self.since)
        return status

    def resident(self) -> int:
        """Resident memory in kB; 0 when it does not run."""
        with self.lock:
            process = self.process
        try:
            text = pathlib.Path(f"/proc/{process.pid}/status").read_text() if process else ""
        except OSError:
            return 0
        lines = [line for line in text.splitlines() if line.startswith("VmRSS")]
        return int(lines[0].split()[1]) if lines else 0


class Sender(threading.Thread):
    """Sends one file after the other; each until the receiver has confirmed it."""

    def __init__(self, byway: str, net: Net, seed: int, number: int, to: str, work: pathlib.Path, book: Book) -> None:
        super().__init__(daemon=True)
        self.byway, self.net, self.seed, self.number, self.to, self.book = byway, net, seed, number, to, book
        self.work, self.got = work / f"sender{number}", work / "got"
        self.work.mkdir()
        self.calm = threading.Event()
        self.command: Command | None = None

    def run(self) -> None:
        try:
            file = 0
            while not self.calm.is_set():
                self.one(file)
                file += 1
        except Exception as error:  # the run must hear of it
            self.book.blame(f"sender {self.number}: {error!r}")

    def one(self, file: int) -> None:
        name = f"{self.number}-{file}.bin"
        path = self.work / name
        length = plan.size(self.seed, self.number, file)
        data = plan.contents(self.seed, self.number, file, length)
        path.write_bytes(data)
        words = [self.byway, "send", str(path), "--to", self.to, "--bind", FROM, "--retry-for", "2min"]
        self.command = Command(f"sender{self.number}", self.net, "a", words, self.book, self.work)
        self.book.add("files_offered")
        self.book.add("bytes_offered", length)
        while True:
            self.command.start()
            status = self.command.wait()
            if status == 0:
                break
            self.book.add("sends_again")
            time.sleep(0.2)
        stored = self.got / name
        if not stored.exists():
            self.book.blame(f"{name} was confirmed and is not there")
        elif hashlib.sha256(stored.read_bytes()).digest() != hashlib.sha256(data).digest():
            self.book.blame(f"{name} was confirmed and differs")
        else:
            self.book.add("files_stored")
            self.book.add("bytes_stored", length)
            stored.unlink()
        path.unlink()


class Pipe(threading.Thread):
    """`cat` to `listen`, read slowly. What is read must be a prefix of what was written,
    and all of it when both ended well. With a file for tickets, each `listen` makes one for its `cat`."""

    def __init__(self, byway: str, net: Net, seed: int, ticket: pathlib.Path | None, work: pathlib.Path, book: Book) -> None:
        super().__init__(daemon=True)
        self.byway, self.net, self.seed, self.work, self.book = byway, net, seed, work, book
        self.calm, self.ticket = threading.Event(), ticket
        gate = ["--ticket-to", str(ticket)] if ticket else ["--unprotected"]
        to = [f"@{ticket}"] if ticket else ["10.97.0.2:9900,10.97.1.2:9900", "--port", "5002"]
        listen = [byway, "listen", *gate, "--bind", "10.97.0.2:9900,10.97.1.2:9900", "--port", "5002"]
        cat = [byway, "cat", "--to", *to]
        self.listen = Command("listen", net, "z", [*listen, "--give-up", "20s"], book, work)
        self.cat = Command("cat", net, "a", [*cat, "--give-up", "20s"], book, work)

    def run(self) -> None:
        try:
            number = 0
            while not self.calm.is_set():
                self.one(number)
                number += 1
        except Exception as error:  # the run must hear of it
            self.book.blame(f"pipe: {error!r}")

    def one(self, number: int) -> None:
        data = plan.contents(self.seed, 99, number, 2_000_000 + 500_000 * (number % 7))
        source = self.work / "pipe.in"
        source.write_bytes(data)
        if self.ticket:
            self.ticket.unlink(missing_ok=True)
        reader = self.listen.start(stdout=subprocess.PIPE)
        time.sleep(0.3)
        if self.ticket and not appears(self.ticket, 10):
            # It was killed before it had made one, or is to blame.
            self.listen.signal(signal.SIGKILL)
            if self.listen.wait() != -signal.SIGKILL:
                self.book.blame(f"pipe {number}: a listen ended without a ticket")
            self.book.add("pipes_without_a_ticket")
            return
        with source.open("rb") as stdin:
            self.cat.start(stdin=stdin.fileno())
        read = bytearray()
        assert reader.stdout is not None
        while block := reader.stdout.read1(65536):
            read += block
            time.sleep(0.02)  # slow: at most 3.3 MB a second
        listened = self.listen.wait()
        catted = self.cat.wait(60)
        if catted is None:
            self.book.blame("a cat whose listen has ended goes on for a minute")
            self.cat.signal(signal.SIGKILL)
        self.book.add("pipes")
        self.book.add("pipe_bytes", len(read))
        if data[: len(read)] != read:
            self.book.blame(f"pipe {number}: what was read differs from what was written")
        if listened == 0 and catted == 0:
            self.book.add("pipes_complete")
            if len(read) != len(data):
                self.book.blame(f"pipe {number}: {len(read)} of {len(data)} bytes, and both ended well")
