/* echo SERVER CLIENT: messages of every size go to a server in another thread, and come back. */
#include "check.h"
#include <pthread.h>

enum { ECHO = 1, UPPER = 2, TAKE = 3 };

/* What the reply handler has seen. */
typedef struct {
    size_t length;
    AM_TransactionId id;
    uint64_t from;
} Seen;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool ends = false;

static bool has_ended(void) {
    pthread_mutex_lock(&lock);
    bool is = ends;
    pthread_mutex_unlock(&lock);
    return is;
}

static void echo(AM_Token token, const void *data, size_t length, void *context) {
    *(size_t *)context += 1;
    CHECK(AM_Reply(token, 0, data, length));
}

/* Replies to a handler of the initiator. */
static void upper(AM_Token token, const void *data, size_t length, void *context) {
    (void)context;
    CHECK(AM_Reply(token, TAKE, data, length));
}

static void take(AM_Token token, const void *data, size_t length, void *context) {
    Seen *seen = (Seen *)context;
    (void)data;
    seen->length = length;
    CHECK(AMVIA_Identify(token, &seen->from, &seen->id));
    CHECK(AMVIA_ReleaseReply(token));
}

static void write_message(void *data, size_t length, void *context) {
    memcpy(data, context, length);
}

static void *serve(void *argument) {
    AM_Bundle bundle = *(AM_Bundle *)argument;
    while (!has_ended())
        CHECK(AM_Wait(bundle, 1000000));
    return NULL;
}

int main(int count, char **arguments) {
    REQUIRE(count >= 3);
    AM_Options options;
    CHECK(AM_InitOptions(&options, sizeof options));
    options.message = 100000;

    AM_Bundle there, here;
    AM_Endpoint server, client;
    size_t runs = 0;
    CHECK(AM_AllocateBundle(&there));
    CHECK(AM_AllocateEndpoint(there, "server", arguments[1], &options, &server));
    CHECK(AM_SetHandler(server, ECHO, echo, &runs));
    CHECK(AM_SetHandler(server, UPPER, upper, NULL));
    char address[128];
    CHECK(AMVIA_Address(server, address, sizeof address));
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, serve, &there) == 0);

    AM_Peer peer;
    CHECK(AM_AllocateBundle(&here));
    CHECK(AM_AllocateEndpoint(here, "client", arguments[2], &options, &client));
    CHECK(AMVIA_Connect(client, "server", address, LONG, &peer));
    AM_Standing standing;
    uint32_t incarnation = 0;
    CHECK(AMVIA_Standing(client, peer, &standing));
    CHECK(AMVIA_Incarnation(server, &incarnation));
    REQUIRE(standing.reach == AM_CONNECTED && standing.refusal == AM_NOT_REFUSED);
    REQUIRE(standing.incarnation == incarnation);

    static unsigned char message[100000], reply[100000];
    for (size_t byte = 0; byte < sizeof message; byte++)
        message[byte] = (unsigned char)(byte * 7);
    const size_t sizes[] = {0, 1, AM_SHORT, AM_SHORT + 1, AM_MEDIUM, AM_MEDIUM + 1, 1400, 1500, 9000, 100000};
    const size_t many = sizeof sizes / sizeof *sizes;
    for (size_t turn = 0; turn < many; turn++) {
        AM_Transaction sent;
        AM_Status status;
        size_t length;
        CHECK(AM_Request(client, peer, ECHO, message, sizes[turn], 0, &sent));
        CHECK(AMVIA_Finish(client, sent, LONG, &status));
        REQUIRE(status.acknowledgement == AM_ACKED && status.operation == AM_PROCESSED);
        REQUIRE(status.is_final && !status.is_unknown);
        REQUIRE(strcmp(status.text, "<ACKED, PROCESSED>") == 0);
        CHECK(AMVIA_ReadReply(client, sent, reply, sizeof reply, &length));
        REQUIRE(length == sizes[turn] && memcmp(reply, message, length) == 0);
        CHECK(AMVIA_Release(client, sent));
    }

    /* A reply that a handler takes. */
    Seen seen;
    memset(&seen, 0, sizeof seen);
    AM_Transaction sent;
    AM_Status status;
    CHECK(AM_SetHandler(client, TAKE, take, &seen));
    CHECK(AM_Request(client, peer, UPPER, message, 77, AM_FOREVER, &sent));
    while (AMVIA_Status(client, sent, &status) == AM_OK)
        CHECK(AM_Wait(here, LONG));
    REQUIRE(seen.length == 77 && seen.from == peer.endpoint);
    REQUIRE(seen.id.sequence == sent.id.sequence && seen.id.initiator == sent.id.initiator);
    uint64_t credits = 0;
    CHECK(AMVIA_Credits(client, peer, &credits));
    REQUIRE(credits == options.window);

    /* Filled where it stays. */
    CHECK(AMVIA_RequestInPlace(client, peer, ECHO, sizeof message, write_message, message, AM_FOREVER, &sent));
    CHECK(AMVIA_Finish(client, sent, LONG, &status));
    size_t length;
    CHECK(AMVIA_ReadReply(client, sent, reply, sizeof reply, &length));
    REQUIRE(length == sizeof message && memcmp(reply, message, length) == 0);
    CHECK(AMVIA_Release(client, sent));
    AM_Counters counters;
    CHECK(AMVIA_Counters(client, peer, &counters, sizeof counters));
    REQUIRE(counters.requests == many + 2 && counters.started == 0);

    /* The server knows the client, which has connected by itself. */
    AM_Peer known[2];
    size_t peers = 0;
    CHECK(AMVIA_Peers(server, known, 2, &peers));
    REQUIRE(peers == 1 && known[0].endpoint == sent.id.initiator);

    pthread_mutex_lock(&lock);
    ends = true;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    CHECK(AM_FreeEndpoint(client));
    CHECK(AM_FreeBundle(here));
    CHECK(AM_FreeBundle(there));
    REQUIRE(runs == many + 1);
    return 0;
}
