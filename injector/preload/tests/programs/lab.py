"""What a case can use: a program with the packages that it needs, and a lab in which it runs."""

import ctypes
import glob
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
FILES = HERE / "files"
FIXTURES = HERE.parent / "fixtures"

DELAY_NS = 100_000
# A run of a program is over by then, whatever it does.
RUN_SECONDS = 60
# A server that is asked to end has ended by then.
END_SECONDS = 10
# A program that ends so says on its last line of stderr why it cannot be tried here.
CANNOT_BE_TRIED = 77

os.environ["PATH"] += ":/usr/sbin:/sbin"


class Failed(Exception):
    """What a program did is not right."""


class Skipped(Exception):
    """A program cannot be tried here."""


@dataclass(frozen=True)
class AtLeast:
    """A number of sends that depends on how the program gets on."""

    sends: int


@dataclass(frozen=True)
class Case:
    name: str
    # What has to be there (a command, or a path with wildcards), and the Debian package that brings it.
    needs: dict[str, str]
    # How many sends the hooks count.
    sends: int | AtLeast
    hook: str
    modes: tuple[str, ...]
    # What the library says on stderr, where it has something to say.
    says: str
    # Runs the program in a lab and gives its result, which is the same in every run.
    perform: Callable[["Lab"], object]


CASES: list[Case] = []


def case(name, *, needs, sends, hook="socket", modes=("spin", "defer"), says=""):
    """Makes a function a case."""

    def register(perform):
        CASES.append(Case(name, needs, sends, hook, modes, says, perform))
        return perform

    return register


def expect(condition, what):
    if not condition:
        raise Failed(what)


class Process:
    """A program that runs; what it prints goes into files."""

    def __init__(self, name, words, folder, input, env, cwd):
        self.name = name
        self.out, self.err = folder / "out", folder / "err"
        (folder / "in").write_bytes(input)
        with open(folder / "in", "rb") as stdin, open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.popen = subprocess.Popen(
                words, stdin=stdin, stdout=out, stderr=err, env={**os.environ, **(env or {})}, cwd=cwd
            )

    def finish(self, seconds, statuses):
        """Waits for the end, and gives what the program printed."""
        try:
            status = self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.name} has not ended after {seconds:.0f} s{self.last_words()}") from None
        if status == CANNOT_BE_TRIED:
            raise Skipped(self.last_words().strip(": "))
        if status not in statuses:
            how = f"exit status {status}" if status >= 0 else f"signal {-status}"
            raise Failed(f"{self.name} ended with {how}{self.last_words()}")
        return self.out.read_bytes().decode(errors="replace")

    def last_words(self):
        text = self.err.read_text(errors="replace").strip() or self.out.read_text(errors="replace").strip()
        return f": {text.splitlines()[-1]}" if text else ""


class Lab:
    """A run of a case: alone (no mode), or under injection."""

    def __init__(self, case, jitterlab, mode, shared):
        self.case, self.jitterlab, self.mode = case, jitterlab, mode
        # For what all runs of the case can use.
        self.shared = shared
        # For this run's own files.
        self.folder = shared / (mode or "alone")
        self.folder.mkdir(parents=True)
        self.report = self.folder / "report"
        # Also for processes that have given up root's rights.
        self.report.touch()
        self.report.chmod(0o666)
        self.processes = []
        self.deadline = time.monotonic() + RUN_SECONDS

    # Running programs

    def injected(self, *words):
        """The command that runs a program as this run does."""
        if not self.mode:
            return [str(word) for word in words]
        options = {"table": "t.dist", "seed": "s.seed"}
        files = [word for name, file in options.items() for word in (f"--{name}", self.shared.parent / file)]
        command = [self.jitterlab, "inject", "run", *files, "--mode", self.mode, "--hook", self.case.hook]
        return [str(word) for word in (*command, "--report", self.report, "--", *words)]

    def start(self, *words, input=b"", env=None, cwd=None, alone=False):
        """Starts a program; under injection, unless it is to be alone in all runs."""
        name = os.path.basename(words[0])
        words = [str(word) for word in words] if alone else self.injected(*words)
        folder = self.folder / f"process-{len(self.processes)}"
        folder.mkdir()
        process = Process(name, words, folder, input, env, cwd or self.folder)
        self.processes.append(process)
        return process

    def run(self, *words, statuses=(0,), **how):
        """Runs a program to its end, and gives what it printed."""
        return self.finish(self.start(*words, **how), statuses)

    def finish(self, process, statuses=(0,)):
        return process.finish(max(self.deadline - time.monotonic(), 1), statuses)

    def serve(self, port, *words, **how):
        """Starts a server, and waits until something listens on its port."""
        process = self.start(*words, **how)
        self.wait_for(lambda: is_bound(port), process, f"listens on port {port}")
        return process

    def stop(self, process, by=signal.SIGTERM, statuses=(0,)):
        """Asks a program to end."""
        process.popen.send_signal(by)
        return process.finish(END_SECONDS, statuses)

    def wait_for(self, condition, process, what):
        while not condition():
            if process.popen.poll() is not None:
                self.finish(process)
                raise Failed(f"{process.name} has ended{process.last_words()}")
            if time.monotonic() > self.deadline:
                raise Failed(f"nothing {what}{process.last_words()}")
            time.sleep(0.01)

    def once(self, name, make):
        """A file for all runs of the case, made by the first."""
        path = self.shared / name
        if not path.exists():
            make(path)
        return path

    def compile(self, name, *options):
        """A C program of the fixtures of `injector/preload/tests`."""
        strict = ["-O1", "-pthread", "-Wall", "-Werror", "-D_GNU_SOURCE"]
        source = FIXTURES / f"{name}.c"
        return self.once(name, lambda target: self.run("cc", *strict, source, "-o", target, *options, alone=True))

    def doctor(self, *words, statuses=(0, 1)):
        """What the doctor finds: the kinds of what bypasses the hooks."""
        found = self.run(
            self.jitterlab, "inject", "doctor", "--format", "json", "--", *words, statuses=statuses, alone=True
        )
        return {bypass["kind"] for bypass in json.loads(found)["bypasses"]}

    # What was counted

    def counted(self):
        """The counters of all processes that have ended, added up."""
        totals = {"delays": 0, "asked_ns": 0, "send_errors": 0, "calls": 0}
        for line in self.report.read_text().splitlines():
            counters = json.loads(line)
            counters["calls"] = sum(counters["calls"].values())
            totals = {name: total + counters[name] for name, total in totals.items()}
        return totals

    def judge_counters(self):
        counted, sends = self.counted(), self.case.sends
        delays = counted["delays"]
        if isinstance(sends, AtLeast):
            expect(delays >= sends.sends, f"{delays} sends are counted, not {sends.sends} or more")
        else:
            expect(delays == sends, f"{delays} sends are counted, not {sends}")
        asked = delays * DELAY_NS
        expect(counted["asked_ns"] == asked, f"{counted['asked_ns']} ns are asked, not {asked}")
        expect(counted["send_errors"] == 0, f"{counted['send_errors']} sends failed when they were due")

    def judge_words(self):
        """The library says what it has to, and nothing else."""
        said = [
            line
            for process in self.processes
            for line in process.err.read_text(errors="replace").splitlines()
            if line.startswith("jitterlab:")
        ]
        odd = [line for line in said if not self.case.says or self.case.says not in line]
        expect(not odd, f"the library says: {odd and odd[0]}")
        expect(said or not self.case.says, f"the library does not say: {self.case.says}")


def judge(case, jitterlab, folder):
    """Runs a case alone and in its modes; gives the verdict, and why."""
    for what, package in case.needs.items():
        if not (glob.glob(what) if "/" in what else shutil.which(what)):
            return "skip", f"package {package} is not installed"
    prepare(folder)
    shared = folder / case.name
    expected = None
    for mode in (None, *case.modes):
        try:
            lab = Lab(case, jitterlab, mode, shared)
            result = case.perform(lab)
            end_by_themselves()
            if mode:
                expect(result == expected, f"the result is {brief(result)}, and without the library {brief(expected)}")
                lab.judge_counters()
                lab.judge_words()
            expected = result
        except Skipped as why:
            return "skip", str(why)
        except Failed as why:
            return "not ok", f"{mode or 'alone'}: {why}"
        except (OSError, LookupError, ValueError) as why:
            # What a program left or said is not what it should have.
            return "not ok", f"{mode or 'alone'}: {type(why).__name__}: {why}"
        finally:
            end_children()
    shutil.rmtree(shared)
    return "ok", ""


def brief(result):
    text = repr(result)
    return text if len(text) < 300 else f"{text[:300]}…"


def prepare(folder):
    """A table of a constant delay, and a seed."""
    (folder / "t.dist").write_text((" ".join([str(DELAY_NS)] * 8) + "\n") * 512)
    (folder / "s.seed").write_text("1\n")


# Processes

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """What a program leaves behind becomes a child of this process, and is found."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def children():
    """The children of this process that still run."""
    found = []
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            # The name, in brackets, may hold anything.
            pid, rest = int(stat.split("/")[2]), Path(stat).read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(rest[1]) == os.getpid():
            if rest[0] == "Z":
                reap(pid)
            else:
                found.append(pid)
    return found


def reap(pid):
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass


def end_by_themselves():
    """Programs have ended, and what they started with them."""
    end = time.monotonic() + END_SECONDS
    while left := children():
        if time.monotonic() > end:
            names = [Path(f"/proc/{pid}/cmdline").read_text().split("\0")[0] for pid in left]
            raise Failed(f"still there: {' '.join(names)}")
        time.sleep(0.01)


def end_children():
    while left := children():
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


# Networks


def free_port():
    """A port that nobody has, of TCP or UDP. The system gives none of these to sockets that ask for any."""
    while True:
        port = random.randrange(10_000, 32_768)
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
            try:
                tcp.bind(("127.0.0.1", port))
                udp.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def is_bound(port):
    """Somebody listens on a port of TCP, or has one of UDP."""
    for family in ("tcp", "tcp6", "udp", "udp6"):
        state = "0A" if family.startswith("tcp") else "07"
        try:
            lines = Path(f"/proc/net/{family}").read_text().splitlines()[1:]
        except OSError:
            continue
        for local, _, of in (line.split()[1:4] for line in lines):
            if local.endswith(f":{port:04X}") and of == state:
                return True
    return False


def connect(port):
    """A connection of this script's own."""
    return socket.create_connection(("127.0.0.1", port), timeout=RUN_SECONDS)
