/* An RDMA device whose post_send does nothing, and an MPI whose MPI_Send does nothing: what is left of a
   call is the hook. */
#include <infiniband/verbs.h>
#include <string.h>

static int post_nothing(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    (void)qp, (void)wr, (void)bad;
    return 0;
}

struct ibv_context *null_context(void)
{
    static struct ibv_context contexts[2];
    static int next;
    struct ibv_context *context = &contexts[next++ % 2];
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

int MPI_Send(const void *, int, void *, int, int, void *) __attribute__((weak, alias("PMPI_Send")));
