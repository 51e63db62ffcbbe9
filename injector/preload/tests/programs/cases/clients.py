"""Programs that measure or carry what they are given, between two ends of their own."""

import json
import signal

from lab import AtLeast, case, free_port

from .servers import backend, content

IPERF3 = {"iperf3": "iperf3"}
BYTES = 1 << 20


def iperf3(lab, *options):
    """A megabyte. (The client ends when it has sent, whatever is still on its way.)"""
    port = free_port()
    server = lab.serve(port, "iperf3", "--server", "--one-off", "--bind", "127.0.0.1", "--port", port)
    told = lab.run(
        "iperf3", "--client", "127.0.0.1", "--port", port, "--bytes", BYTES, "--length", "1K", "--json", *options
    )
    lab.finish(server)
    return json.loads(told)["end"]["sum_sent"]["bytes"] >= BYTES


@case("iperf3", needs=IPERF3, sends=AtLeast(BYTES // 1024))
def iperf3_plain(lab):
    return iperf3(lab)


# Data go by sendfile; what the ends tell each other does not.
@case("iperf3-zerocopy", needs=IPERF3, sends=AtLeast(10))
def iperf3_zerocopy(lab):
    return iperf3(lab, "--zerocopy")


@case("iperf3-udp", needs=IPERF3, sends=AtLeast(BYTES // 1024))
def iperf3_udp(lab):
    return iperf3(lab, "--udp", "--bitrate", "50M")


@case("iperf3-reverse", needs=IPERF3, sends=AtLeast(BYTES // 1024))
def iperf3_reverse(lab):
    return iperf3(lab, "--reverse")


def carry(lab, receiver, sender, port):
    """A file from one program to another."""
    data = (lab.once("root", content) / "data").read_bytes()
    server = lab.serve(port, *receiver)
    lab.run(*sender, input=data)
    lab.finish(server)
    return server.out.read_bytes() == data


@case("netcat", needs={"nc.openbsd": "netcat-openbsd"}, sends=AtLeast(300_000 // 16384))
def netcat(lab):
    port = free_port()
    receiver = ["nc.openbsd", "-l", "127.0.0.1", port]
    return carry(lab, receiver, ["nc.openbsd", "-N", "127.0.0.1", port], port)


@case("socat", needs={"socat": "socat"}, sends=AtLeast(300_000 // 8192))
def socat(lab):
    port = free_port()
    receiver = ["socat", "-u", f"TCP4-LISTEN:{port},bind=127.0.0.1", "STDOUT"]
    return carry(lab, receiver, ["socat", "-u", "STDIN", f"TCP4:127.0.0.1:{port}"], port)


# There, and back by a program with a socket in the place of its standard streams.
@case("socat-exec", needs={"socat": "socat"}, sends=AtLeast(2))
def socat_exec(lab):
    port = free_port()
    server = lab.serve(port, "socat", f"TCP4-LISTEN:{port},bind=127.0.0.1", "EXEC:cat,nofork")
    got = lab.run("socat", "-t", "10", "-", f"TCP4:127.0.0.1:{port}", input=b"there and back\n")
    lab.finish(server)
    return got


# A request each: the server is not under injection.
@case("apache-bench", needs={"ab": "apache2-utils", "python3": "python3"}, sends=200)
def apache_bench(lab):
    with backend(lab) as url:
        told = lab.run("ab", "-q", "-n", 200, "-c", 4, url)
    return [line for line in told.splitlines() if line.startswith(("Complete", "Failed", "Document Length"))]


@case("wrk", needs={"wrk": "wrk", "python3": "python3"}, sends=AtLeast(10))
def wrk(lab):
    with backend(lab) as url:
        told = lab.run("wrk", "-t", 2, "-c", 4, "-d", "1s", url)
    return "requests in" in told, "Non-2xx" in told


@case("stress-ng", needs={"stress-ng": "stress-ng"}, sends=AtLeast(1000))
def stress_ng(lab):
    port = free_port()
    kinds = ["--sock", 1, "--sock-domain", "ipv4", "--sock-port", port, "--sock-ops", 10]
    kinds += ["--udp", 1, "--udp-domain", "ipv4", "--udp-port", port, "--udp-ops", 10]
    lab.run("stress-ng", "--verify", *kinds)


@case("sockperf", needs={"sockperf": "sockperf"}, sends=AtLeast(200))
def sockperf(lab):
    port = free_port()
    server = lab.serve(port, "sockperf", "server", "--tcp", "-i", "127.0.0.1", "-p", port)
    told = lab.run("sockperf", "ping-pong", "--tcp", "-i", "127.0.0.1", "-p", port, "-t", 1)
    lab.stop(server, by=signal.SIGINT)
    return "# dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0" in told


@case("qperf", needs={"qperf": "qperf"}, sends=AtLeast(200))
def qperf(lab):
    port = free_port()
    server = lab.serve(port, "qperf", "--listen_port", port)
    ask = ["qperf", "--listen_port", port, "127.0.0.1"]
    told = lab.run(*ask, "--time", 1, "tcp_lat")
    lab.run(*ask, "quit")
    lab.finish(server)
    return told.count("latency")


# Of up to 1 KiB there are 46 sizes: each 10 times in each of 3 trials, from either end.
NETPIPE = ["-u", 1024, "-n", 10]
NETPIPE_SENDS = AtLeast(46 * 10 * 3 * 2)


@case("netpipe", needs={"NPtcp": "netpipe-tcp"}, sends=NETPIPE_SENDS)
def netpipe(lab):
    port = free_port()
    options = ["-P", port, *NETPIPE]
    receiver = lab.serve(port, "NPtcp", *options)
    lab.run("NPtcp", "-h", "127.0.0.1", *options)
    lab.finish(receiver)
    return len((lab.folder / "np.out").read_text().splitlines())
