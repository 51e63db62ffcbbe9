"""What else stands in a program's way: allocators, other clocks, tracers."""

import re

from lab import FILES, case, expect

MESSAGES = 200
ECHO = ["python3", FILES / "echo.py", MESSAGES]

BESIDE = {
    "jemalloc": ("libjemalloc.so.2", "libjemalloc2"),
    "tcmalloc": ("libtcmalloc.so.4", "libgoogle-perftools4"),
    "tcmalloc-minimal": ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
    "mimalloc": ("libmimalloc.so.2.0", "libmimalloc2.0"),
}


def beside(name, library, package):
    """A library that is preloaded, too."""

    @case(name, needs={f"/usr/lib/*/{library}": package, "python3": "python3"}, sends=4 * MESSAGES)
    def perform(lab):
        return lab.run(*ECHO, env={"LD_PRELOAD": library, "PYTHONMALLOC": "malloc"})


for name, (library, package) in BESIDE.items():
    beside(name, library, package)


@case("faketime", needs={"faketime": "faketime", "python3": "python3"}, sends=4 * MESSAGES)
def faketime(lab):
    year = lab.run("faketime", "-f", "@2001-02-03 04:05:06", "date", "+%Y", alone=True)
    expect(year == "2001\n", year)
    return lab.run("faketime", "-f", "@2001-02-03 04:05:06", *ECHO)


@case("strace", needs={"strace": "strace", "python3": "python3"}, sends=4 * MESSAGES)
def strace(lab):
    came = lab.run("strace", "-f", "-yy", "-o", "trace", "-e", "trace=sendto,sendmsg", *ECHO)
    return came, len(re.findall(r"send(?:to|msg)\(\d+<(?:TCP|UDP)", (lab.folder / "trace").read_text()))


@case("valgrind", needs={"valgrind": "valgrind", "cc": "gcc"}, sends=12 * 25)
def valgrind(lab):
    program = lab.compile("every_call")
    return lab.run("valgrind", "--error-exitcode=9", "-q", program, 25)
