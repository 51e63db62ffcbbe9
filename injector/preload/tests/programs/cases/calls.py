"""Small C programs that make rare calls, or many; each judges itself."""

from lab import case

# What each does, in fixtures/NAME.c, is said there; so many sends it makes.
PROGRAMS = {
    "closing": 6,
    "exec": 21,
    "every_call": 12,
    "many_sockets": 10_000,
    "many_threads": 3_000,
    "zero_copy": 200,
    "segments": 20,
    "fast_open": 40,
    "rights": 6,
}


def program(name, sends):
    @case(name.replace("_", "-"), needs={"cc": "gcc"}, sends=sends)
    def perform(lab):
        return lab.run(lab.compile(name))


for name, sends in PROGRAMS.items():
    program(name, sends)
