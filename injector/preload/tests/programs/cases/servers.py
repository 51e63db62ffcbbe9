"""Servers, each with a client that tells whether its answers are right."""

import glob
import hashlib
import os
import signal
from contextlib import contextmanager
from pathlib import Path

from lab import AtLeast, case, connect, expect, free_port

REQUESTS = 20


def content(path):
    """300,000 bytes that are not all alike."""
    path.mkdir()
    path.joinpath("data").write_bytes(b"".join(hashlib.sha256(b"%d" % index).digest() for index in range(9375)))


def fetch(lab, port):
    """What curl gets, many times over one connection."""
    urls = f"http://127.0.0.1:{port}/data?[1-{REQUESTS}]"
    lab.run("curl", "--silent", "--show-error", "--fail", "--output", "got#1", urls)
    return {hashlib.sha256(got.read_bytes()).hexdigest() for got in lab.folder.glob("got*")}


@contextmanager
def backend(lab):
    """A server of HTTP that is never under injection."""
    port, root = free_port(), lab.once("root", content)
    command = ["python3", "-m", "http.server", "--bind", "127.0.0.1", "--directory", root, port]
    server = lab.serve(port, *command, alone=True)
    yield f"http://127.0.0.1:{port}/data"
    lab.stop(server, statuses=(-signal.SIGTERM,))


def nginx(lab, sendfile):
    port, root = free_port(), lab.once("root", content)
    temporary = " ".join(
        f"{kind}_temp_path {lab.folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    lab.folder.joinpath("nginx.conf").write_text(
        f"daemon off; worker_processes 2; error_log stderr; pid {lab.folder}/pid; events {{ }}\n"
        f"http {{ access_log off; sendfile {sendfile}; {temporary}\n"
        f"  server {{ listen 127.0.0.1:{port}; root {root}; }} }}\n"
    )
    server = lab.serve(port, "nginx", "-e", "stderr", "-c", lab.folder / "nginx.conf")
    got = fetch(lab, port)
    lab.stop(server)
    return got


NGINX = {"nginx": "nginx-light", "curl": "curl"}


# A request, and the head of its answer, or all of it.
@case("nginx-sendfile", needs=NGINX, sends=AtLeast(2 * REQUESTS))
def nginx_with_sendfile(lab):
    return nginx(lab, "on")


# A request, and its answer from two buffers of 32 KiB.
@case("nginx", needs=NGINX, sends=AtLeast((1 + 300_000 // 65_536) * REQUESTS))
def nginx_without_sendfile(lab):
    return nginx(lab, "off")


@case("lighttpd", needs={"lighttpd": "lighttpd", "wget": "wget"}, sends=AtLeast(2 * REQUESTS))
def lighttpd(lab):
    port, root = free_port(), lab.once("root", content)
    lab.folder.joinpath("lighttpd.conf").write_text(
        f'server.document-root = "{root}"\nserver.bind = "127.0.0.1"\nserver.port = {port}\n'
    )
    server = lab.serve(port, "lighttpd", "-D", "-f", lab.folder / "lighttpd.conf")
    lab.run("wget", "--quiet", "--output-document=got", *[f"http://127.0.0.1:{port}/data"] * REQUESTS)
    lab.stop(server)
    return hashlib.sha256((lab.folder / "got").read_bytes()).hexdigest()


@case("haproxy", needs={"haproxy": "haproxy", "curl": "curl", "python3": "python3"}, sends=AtLeast(3 * REQUESTS))
def haproxy(lab):
    port = free_port()
    with backend(lab) as url:
        lab.folder.joinpath("haproxy.conf").write_text(
            "global\n  nbthread 2\n"
            "defaults\n  mode http\n  timeout connect 10s\n  timeout client 10s\n  timeout server 10s\n"
            f"frontend here\n  bind 127.0.0.1:{port}\n  default_backend there\n"
            f"backend there\n  server python {url.split('/')[2]}\n"
        )
        server = lab.serve(port, "haproxy", "-db", "-f", lab.folder / "haproxy.conf")
        got = fetch(lab, port)
        lab.stop(server, by=signal.SIGUSR1)
    return got


def unrooted():
    """What runs a server that refuses to be root."""
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []


def memcached(lab, by, statuses):
    port = free_port()
    server = lab.serve(port, *unrooted(), "memcached", "-l", "127.0.0.1", "-p", port, "-U", "0", "-t", "2")
    with connect(port) as connection, connection.makefile("rwb") as stream:
        came = []
        for index in range(200):
            stream.write(b"set key%d 0 0 %d\r\n%s\r\n" % (index, index, b"x" * index))
            stream.flush()
            came.append(stream.readline())
        for index in range(200):
            stream.write(b"get key%d\r\n" % index)
            stream.flush()
            came += [stream.readline() for _ in range(3)]
    lab.stop(server, by, statuses)
    expect(came.count(b"STORED\r\n") == 200 and came.count(b"END\r\n") == 200, f"memcached says {came}")
    return came


@case("memcached", needs={"memcached": "memcached"}, sends=400)
def memcached_that_ends(lab):
    return memcached(lab, by=signal.SIGTERM, statuses=(0,))


# Its control page has the counts.
@case("memcached-killed", needs={"memcached": "memcached"}, sends=400)
def memcached_that_is_killed(lab):
    return memcached(lab, by=signal.SIGKILL, statuses=(-signal.SIGKILL,))


# The server answers each of 2,000 requests and the question for its settings; the client makes them.
@case("redis", needs={"redis-server": "redis-server", "redis-benchmark": "redis-tools"}, sends=AtLeast(4000))
def redis(lab):
    port = free_port()
    server = lab.serve(port, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", lab.folder)
    lab.run("redis-benchmark", "-p", port, "-q", "-c", 5, "-n", 1000, "-r", 50, "-t", "set,get")
    size = lab.run("redis-cli", "-p", port, "dbsize", alone=True)
    lab.stop(server)
    return size


POSTGRES = "/usr/lib/postgresql/*/bin/postgres"


# Two clients; a query and its answer each.
@case("postgresql", needs={POSTGRES: "postgresql"}, sends=AtLeast(2 * 2 * 100))
def postgresql(lab):
    folder, user = Path(glob.glob(POSTGRES)[0]).parent, unrooted()

    def make(data):
        data.mkdir(mode=0o700)
        if user:
            os.chown(data, 65534, 65534)
        options = ["--no-sync", "--auth=trust", "--username=lab", "--locale=C", "-D", data]
        lab.run(*user, folder / "initdb", *options, alone=True)

    data, port = lab.once("data", make), free_port()
    options = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off"]
    server = lab.serve(port, *user, folder / "postgres", "-D", data, "-p", port, *options)
    # It listens before it answers.
    lab.wait_for(lambda: "ready to accept connections" in server.err.read_text(), server, "answers")
    where = ["-h", "127.0.0.1", "-p", port, "-U", "lab"]
    script = lab.folder / "script.sql"
    script.write_text("insert into numbers values (:client_id + 1);\n")
    psql = ["psql", "--no-psqlrc", *where, "-d", "postgres", "-tAc"]
    lab.run(*psql, "drop table if exists numbers; create table numbers (number int)")
    done = lab.run("pgbench", "-n", *where, "-f", script, "-c", 2, "-j", 2, "-t", 100, "postgres")
    expect("actually processed: 200/200" in done, done)
    answer = lab.run(*psql, "select count(*), sum(number) from numbers")
    answer += lab.run(*psql, "select number from generate_series(1, 20000) number")
    lab.stop(server)
    return answer


@case("mosquitto", needs={"mosquitto": "mosquitto", "mosquitto_sub": "mosquitto-clients"}, sends=AtLeast(4 * 50))
def mosquitto(lab):
    port = free_port()
    (lab.folder / "conf").write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    server = lab.serve(port, "mosquitto", "-c", lab.folder / "conf")
    where = ["-h", "127.0.0.1", "-p", port, "-t", "topic", "-q", "1"]
    reader = ["mosquitto_sub", *where, "--id", "reader", "--disable-clean-session"]
    # Whoever subscribed before gets what was published meanwhile.
    lab.run(*reader, "-E")
    lab.run("mosquitto_pub", *where, "-l", input=b"".join(b"message %d\n" % index for index in range(50)))
    got = lab.run(*reader, "-C", 50)
    lab.stop(server)
    return got


# Twenty answers over UDP, and questions and answers over TCP. (Debian 12's dig asks over UDP by `syscall`, which
# passes no hook.)
@case("dnsmasq", needs={"dnsmasq": "dnsmasq-base", "dig": "bind9-dnsutils"}, sends=AtLeast(3 * 20))
def dnsmasq(lab):
    port = free_port()
    options = ["--keep-in-foreground", "--no-resolv", "--no-hosts", "--conf-file=/dev/null", "--pid-file="]
    address = ["--listen-address=127.0.0.1", "--bind-interfaces", f"--port={port}", "--address=/lab.test/10.1.2.3"]
    user = ["--user=root"] if os.getuid() == 0 else []
    server = lab.serve(port, "dnsmasq", *options, *address, *user)
    names = [f"host{index}.lab.test" for index in range(20)]
    dig = ["dig", "@127.0.0.1", "-p", port, "+short"]
    answers = lab.run(*dig, *names) + lab.run(*dig, "+tcp", *names)
    lab.stop(server)
    expect(answers == "10.1.2.3\n" * 40, answers)
    return answers


@case("rsync", needs={"rsync": "rsync"}, sends=AtLeast(20))
def rsync(lab):
    port, root = free_port(), lab.once("root", content)
    (lab.folder / "conf").write_text(f"use chroot = no\n[data]\npath = {root}\n")
    server = lab.serve(
        port, "rsync", "--daemon", "--no-detach", "--config=conf", "--address=127.0.0.1", f"--port={port}"
    )
    lab.run("rsync", "--archive", "--checksum", f"rsync://127.0.0.1:{port}/data/", "copy")
    lab.stop(server, statuses=(0, 20))
    return hashlib.sha256((lab.folder / "copy/data").read_bytes()).hexdigest()
