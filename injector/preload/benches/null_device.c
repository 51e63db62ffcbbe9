/* An RDMA device whose post_send does nothing, and an MPI whose MPI_Send does nothing: what is left of a
   call is the hook. And functions that jump on to others and do nothing else: what stands between a program and a function
   cannot cost less. */
#include <infiniband/verbs.h>
#include <string.h>
#include <sys/types.h>

static int post_nothing(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    (void)qp, (void)wr, (void)bad;
    return 0;
}

struct ibv_context *null_context(void)
{
    static struct ibv_context contexts[3];
    static int next;
    struct ibv_context *context = &contexts[next++ % 3];
    memset(context, 0, sizeof *context);
    context->ops.post_send = post_nothing;
    return context;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    (void)device;
    return null_context();
}

/* MPI's handles are words here, and its functions have two names. */
int PMPI_Send(const void *data, int count, void *type, int to, int tag, void *comm)
{
    (void)data, (void)count, (void)type, (void)to, (void)tag, (void)comm;
    return 0;
}

/* Told by the program: where the jumps go. */
ssize_t (*jump_target_send)(int, const void *, size_t, int);
ssize_t (*jump_target_write)(int, const void *, size_t);
static int (*volatile target_post)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **) = post_nothing;
static int (*volatile target_mpi)(const void *, int, void *, int, int, void *) = PMPI_Send;

int jump_post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    return target_post(qp, wr, bad);
}

int jump_mpi(const void *data, int count, void *type, int to, int tag, void *comm)
{
    return target_mpi(data, count, type, to, tag, comm);
}

ssize_t jump_send(int fd, const void *data, size_t length, int flags)
{
    return jump_target_send(fd, data, length, flags);
}

ssize_t jump_write(int fd, const void *data, size_t length) { return jump_target_write(fd, data, length); }

int MPI_Send(const void *, int, void *, int, int, void *) __attribute__((weak, alias("PMPI_Send")));
