/* An RDMA device whose post_send does nothing: what is left of a call is the hook. */
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
