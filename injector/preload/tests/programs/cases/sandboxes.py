"""Programs that give up the right to most system calls: the hooks make none beyond the program's own."""

import os
import shutil
from pathlib import Path

from lab import RUN_SECONDS, AtLeast, Skipped, case, free_port

from .servers import content


def need_root():
    if os.getuid() != 0:
        raise Skipped("only root can start it")


# A question and its answer.
@case("chrony", needs={"chronyd": "chrony"}, sends=AtLeast(2))
def chrony(lab):
    need_root()
    port = free_port()

    def chronyd(name, *lines, options):
        conf = lab.folder / name
        conf.write_text("\n".join([*lines, "cmdport 0", "bindcmdaddress /", f"pidfile {conf}.pid", ""]))
        return ["chronyd", "-F", "1", "-u", "root", "-f", conf, *options]

    there = chronyd("there", "local", "allow", "bindaddress 127.0.0.1", f"port {port}", options=["-d", "-x"])
    server = lab.serve(port, *there)
    # Says how far its clock is off, and ends.
    asking = [f"server 127.0.0.1 port {port} iburst maxsamples 1"]
    lab.run(*chronyd("here", *asking, options=["-Q", "-t", RUN_SECONDS // 2]))
    lab.stop(server)


# Either end sends some 300,000 bytes, in packets of 32 KiB at most. The server's child goes on with the socket on which
# its parent has sent, and may overtake what is deferred there (docs/injector.md): so the client alone defers.
@case("openssh", needs={"sshd": "openssh-server", "ssh": "openssh-client"}, sends=AtLeast(300_000 // 32_768))
def openssh(lab):
    port = free_port()
    key = lab.once("key", lambda path: lab.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path, alone=True))
    if os.getuid() == 0:
        # Where sshd drops its rights.
        Path("/run/sshd").mkdir(exist_ok=True)
    (lab.folder / "conf").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {key}\nAuthorizedKeysFile {key}.pub\nPidFile none\n"
        "StrictModes no\nPasswordAuthentication no\nUsePAM no\nPermitRootLogin yes\n"
    )
    # It starts itself anew for each connection, by its full name.
    server = lab.serve(port, shutil.which("sshd"), "-D", "-e", "-f", lab.folder / "conf", alone=lab.mode == "defer")
    options = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
    data = (lab.once("root", content) / "data").read_bytes()
    got = lab.run("ssh", "-F", "none", "-i", key, *options, "-p", port, "127.0.0.1", "cat", input=data)
    lab.stop(server)
    return got == data.decode(errors="replace")
