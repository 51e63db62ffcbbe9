/* Ping-pong as one writes it in C: peer SIZE WARMUP COUNT prints each round trip of rank 0, in nanoseconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc != 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    int size = atoi(argv[1]), rank;
    long warmup = atol(argv[2]), count = atol(argv[3]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *data = malloc(size + 1), *into = malloc(size + 1);
    long long *edges = malloc((count + 1) * sizeof *edges);
    memset(data, 0x5a, size + 1);
    memset(into, 0, size + 1);
    memset(edges, 0xff, (count + 1) * sizeof *edges);

    for (long i = -warmup; i <= count; i++) {
        if (i >= 0)
            edges[i] = now();
        if (i == count)
            break;
        if (rank == 0) {
            MPI_Send(data, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(into, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(into, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(data, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }

    if (rank == 0)
        for (long i = 0; i < count; i++)
            printf("%lld\n", edges[i + 1] - edges[i]);
    MPI_Finalize();
    return 0;
}
