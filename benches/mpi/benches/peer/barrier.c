/* Barriers as one writes them in C: peer SIZE WARMUP COUNT prints the time of each on every rank, in nanoseconds. */
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
    long warmup = atol(argv[2]), count = atol(argv[3]);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long long *edges = malloc((count + 1) * sizeof *edges);
    memset(edges, 0xff, (count + 1) * sizeof *edges);

    for (long i = 0; i < warmup; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    edges[0] = now();
    for (long i = 0; i < count; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        edges[i + 1] = now();
    }

    for (long i = 0; i < count; i++)
        edges[i] = edges[i + 1] - edges[i];
    long long *all = rank == 0 ? malloc(ranks * count * sizeof *all) : NULL;
    MPI_Gather(edges, count, MPI_LONG_LONG, all, count, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    if (rank == 0)
        for (long i = 0; i < ranks * count; i++)
            printf("%lld\n", all[i]);
    MPI_Finalize();
    return 0;
}
