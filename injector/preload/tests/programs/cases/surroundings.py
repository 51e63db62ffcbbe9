"""A /dev/shm that cannot take the control page: the program is injected into all the same."""

from lab import CANNOT_BE_TRIED, FILES, case

MESSAGES = 200
CANNOT = "the program cannot be observed or changed"


def shared_memory(name, mount):
    @case(name, needs={"unshare": "util-linux", "python3": "python3"}, sends=4 * MESSAGES, says=CANNOT)
    def perform(lab):
        echo = lab.injected("python3", FILES / "echo.py", MESSAGES)
        # In a mount namespace, which ends with the program.
        try_it = f"unshare --mount true || exit {CANNOT_BE_TRIED}"
        do_it = f"""exec unshare --mount sh -ec '{mount}; exec "$0" "$@"' "$0" "$@" """
        return lab.run("sh", "-c", f"{try_it}; {do_it}", *echo, alone=True)


shared_memory("full-dev-shm", "mount -t tmpfs -o size=16k none /dev/shm")
shared_memory("read-only-dev-shm", "mount -t tmpfs -o ro none /dev/shm")
