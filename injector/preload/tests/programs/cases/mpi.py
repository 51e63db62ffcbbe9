"""MPI programs, on each MPI."""

from lab import FILES, case

from .clients import NETPIPE, NETPIPE_SENDS

OPEN_MPI = {"mpirun.openmpi": "openmpi-bin", "NPopenmpi": "netpipe-openmpi"}
MPICH = {"mpirun.mpich": "mpich", "NPmpich2": "netpipe-mpich2"}
# Debian's Python, for which the package is.
MPI4PY = {"mpirun.openmpi": "openmpi-bin", "/usr/lib/python3/dist-packages/mpi4py": "python3-mpi4py"}
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def netpipe(lab, launcher, *words):
    """Ping-pong of many sizes; how many are measured."""
    lab.run(launcher, "-n", 2, *words, *NETPIPE, env=ENVIRONMENT)
    return len((lab.folder / "np.out").read_text().splitlines())


@case("netpipe-openmpi", needs=OPEN_MPI, sends=NETPIPE_SENDS, hook="mpi", modes=("spin",))
def netpipe_openmpi(lab):
    return netpipe(lab, "mpirun.openmpi", "NPopenmpi")


@case("netpipe-openmpi-tcp", needs=OPEN_MPI, sends=NETPIPE_SENDS)
def netpipe_openmpi_tcp(lab):
    return netpipe(lab, "mpirun.openmpi", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "NPopenmpi")


@case("netpipe-mpich", needs=MPICH, sends=NETPIPE_SENDS, hook="mpi", modes=("spin",))
def netpipe_mpich(lab):
    return netpipe(lab, "mpirun.mpich", "NPmpich2")


# Not in Debian. Eight bytes there and back, 100 times and 10 more to warm up.
@case("osu-latency", needs={"osu_latency": "osu-micro-benchmarks"}, sends=2 * 110, hook="mpi", modes=("spin",))
def osu_latency(lab):
    told = lab.run("mpirun", "-n", 2, "osu_latency", "-m", "8:8", "-i", 100, "-x", 10, env=ENVIRONMENT)
    return [line.split()[0] for line in told.splitlines() if line and not line.startswith("#")]


@case("mpi4py", needs=MPI4PY, sends=3 * 50, hook="mpi", modes=("spin",))
def mpi4py(lab):
    return lab.run("mpirun.openmpi", "-n", 3, "/usr/bin/python3", FILES / "mpi_ring.py", 50, env=ENVIRONMENT)


@case("mpi4py-collectives", needs=MPI4PY, sends=3 * 3, hook="mpi-collectives", modes=("spin",))
def mpi4py_collectives(lab):
    return lab.run("mpirun.openmpi", "-n", 3, "/usr/bin/python3", FILES / "mpi_ring.py", 50, env=ENVIRONMENT)
