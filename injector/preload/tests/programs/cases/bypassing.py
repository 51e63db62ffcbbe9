"""Programs that send past the hooks: they run as ever, and the doctor names them."""

from lab import case, expect

from .servers import backend


@case("go", needs={"hey": "hey", "python3": "python3"}, sends=0, says="written in Go")
def go(lab):
    with backend(lab) as url:
        hey = ["hey", "-n", 20, "-c", 2, url]
        told = lab.run(*hey)
        found = lab.doctor(*hey)
    expect(found == {"own-system-calls"}, f"the doctor finds {found}")
    return "[200]\t20 responses" in told


@case("io-uring", needs={"/usr/include/liburing.h": "liburing-dev", "cc": "gcc"}, sends=0, says="a ring of io_uring")
def io_uring(lab):
    program = lab.compile("ring", "-luring")
    told = lab.run(program)
    found = lab.doctor(program)
    expect(found == {"io-uring"}, f"the doctor finds {found}")
    return told
