/* free: an endpoint is freed while its handler runs on another thread. AM_FreeEndpoint() waits for the handler, so the context of
 * the handler may go after that. */
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>

typedef struct {
    AM_Endpoint own;
    atomic_bool has_begun;
    bool has_ended;
} Work;

static AM_Bundle there;

static void work(AM_Token token, const void *data, size_t length, void *context) {
    Work *job = (Work *)context;
    char address[64];
    (void)data, (void)length;
    atomic_store(&job->has_begun, true);
    /* Until the endpoint is closed: then somebody frees it. */
    while (AMVIA_Address(job->own, address, sizeof address) == AM_OK)
        CHECK(AM_Poll(there));
    /* Longer than it takes to free. */
    for (int turn = 0; turn < 100000; turn++)
        CHECK(AM_Reply(token, 0, "late", 4));
    job->has_ended = true;
}

static void *serve(void *nothing) {
    while (AM_Wait(there, 1000000) == AM_OK)
        continue;
    return nothing;
}

int main(void) {
    AM_Bundle here;
    AM_Endpoint server, client;
    AM_Peer peer;
    AM_Transaction sent;
    char address[64];
    Work *job = (Work *)calloc(1, sizeof *job);
    REQUIRE(job != NULL);
    CHECK(AM_AllocateBundle(&there));
    CHECK(AM_AllocateEndpoint(there, "server", "udp://127.0.0.1:0", NULL, &server));
    job->own = server;
    CHECK(AM_SetHandler(server, 1, work, job));
    CHECK(AMVIA_Address(server, address, sizeof address));
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, serve, NULL) == 0);
    CHECK(AM_AllocateBundle(&here));
    CHECK(AM_AllocateEndpoint(here, "client", "udp://127.0.0.1:0", NULL, &client));
    CHECK(AMVIA_Connect(client, "server", address, LONG, &peer));
    CHECK(AM_Request(client, peer, 1, NULL, 0, 0, &sent));
    while (!atomic_load(&job->has_begun))
        CHECK(AM_Wait(here, 1000000));

    CHECK(AM_FreeEndpoint(server));
    REQUIRE(job->has_ended);
    free(job);
    EXPECT(AM_ERR_HANDLE, AM_FreeEndpoint(server));
    CHECK(AM_FreeBundle(there));
    pthread_join(thread, NULL);
    CHECK(AM_FreeBundle(here));
    return 0;
}
