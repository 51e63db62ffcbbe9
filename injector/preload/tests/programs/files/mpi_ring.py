"""So many messages around a ring of ranks, then three collectives."""

import sys

from mpi4py import MPI

ranks = MPI.COMM_WORLD
here, messages = ranks.Get_rank(), int(sys.argv[1])
before, after = (here - 1) % ranks.Get_size(), (here + 1) % ranks.Get_size()
came, total = bytearray(1), bytearray(8)
for index in range(messages):
    ranks.Sendrecv(bytes([index]), after, recvbuf=came, source=before)
    assert came[0] == index
ranks.Barrier()
ranks.Bcast(came)
ranks.Allreduce([messages.to_bytes(8, sys.byteorder), MPI.INT64_T], [total, MPI.INT64_T])
if here == 0:
    print(int.from_bytes(total, sys.byteorder))
