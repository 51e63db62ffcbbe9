/* errors [checked]: the errors, and after it the library goes on. With an argument, a checker of memory runs it. */
#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ECHO = 1, MISBEHAVE = 2 };
#define LOOPBACK "udp://127.0.0.1:0"

static AM_Bundle bundle;
static AM_Endpoint server, client;
static AM_Peer peer;

static void echo(AM_Token token, const void *data, size_t length, void *context) {
    (void)context;
    CHECK(AM_Reply(token, 0, data, length));
}

static void *reply_from_elsewhere(void *token) {
    EXPECT(AM_ERR_TOKEN, AM_Reply(*(AM_Token *)token, 0, "x", 1));
    return NULL;
}

/* A child that has seen what it should. The threads of its parent are not there, which a checker of memory takes for a leak, and
 * would make an exit status of its own of. */
static void end_child(void) {
    raise(SIGKILL);
}

static void await_child(pid_t child) {
    int how = 0;
    REQUIRE(waitpid(child, &how, 0) == child);
    REQUIRE(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
}

/* A handler that does what it may not. */
static void misbehave(AM_Token token, const void *data, size_t length, void *context) {
    (void)data, (void)length;
    AM_Status status;
    AM_Transaction mine;
    EXPECT(AM_ERR_IN_HANDLER, AM_FreeEndpoint(server));
    EXPECT(AM_ERR_IN_HANDLER, AM_FreeBundle(bundle));
    CHECK(AM_Poll(bundle));
    CHECK(AM_Request(client, peer, ECHO, "x", 1, 0, &mine));
    EXPECT(AM_ERR_IN_HANDLER, AMVIA_Finish(client, mine, LONG, &status));
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, reply_from_elsewhere, &token) == 0);
    pthread_join(thread, NULL);
    static char long_reply[100000];
    EXPECT(AM_ERR_TOO_LONG, AM_Reply(token, 0, long_reply, sizeof long_reply));
    EXPECT(AM_ERR_NULL, AM_Reply(token, 0, NULL, 5));
    pid_t child = fork();
    if (child == 0) {
        EXPECT(AM_ERR_FORKED, AM_Reply(token, 0, "x", 1));
        end_child();
    }
    await_child(child);
    *(AM_Token *)context = token;
    CHECK(AM_Reply(token, 0, "done", 4));
}

static AM_Error allocate(const char *name, const char *address, const AM_Options *options) {
    AM_Endpoint made;
    AM_Error given = AM_AllocateEndpoint(bundle, name, address, options, &made);
    if (given == AM_OK)
        CHECK(AM_FreeEndpoint(made));
    return given;
}

static AM_Options defaults(void) {
    AM_Options options;
    CHECK(AM_InitOptions(&options, sizeof options));
    return options;
}

static void options_and_texts(void) {
    AM_Options options = defaults();
    CHECK(allocate("ok", LOOPBACK, &options));
    EXPECT(AM_ERR_NULL, AM_AllocateBundle(NULL));
    EXPECT(AM_ERR_NULL, AM_AllocateEndpoint(bundle, NULL, LOOPBACK, NULL, &server));
    EXPECT(AM_ERR_NULL, AM_AllocateEndpoint(bundle, "server", LOOPBACK, NULL, NULL));
    EXPECT(AM_ERR_NULL, AM_InitOptions(NULL, sizeof options));
    EXPECT(AM_ERR_SIZE, AM_InitOptions(&options, 4));
    options.size = sizeof options + 8;
    EXPECT(AM_ERR_SIZE, allocate("server", LOOPBACK, &options));
    REQUIRE(strstr(AMVIA_LastError(), "AM_InitOptions") != NULL);
    options.size = 0;
    EXPECT(AM_ERR_SIZE, allocate("server", LOOPBACK, &options));
    EXPECT(AM_ERR_TEXT, allocate("\xff", LOOPBACK, NULL));
    EXPECT(AM_ERR_NAME, allocate("", LOOPBACK, NULL));
    EXPECT(AM_ERR_NAME, allocate("A server", LOOPBACK, NULL));
    EXPECT(AM_ERR_ADDRESS, allocate("server", "nowhere", NULL));
    /* 192.0.2.0/24 is nobody's (RFC 5737). */
    EXPECT(AM_ERR_TRANSPORT, allocate("server", "udp://192.0.2.1:7", NULL));

    options = defaults();
    options.window = 65;
    EXPECT(AM_ERR_OPTION, allocate("server", LOOPBACK, &options));
    options.window = 256 + 16;
    EXPECT(AM_ERR_OPTION, allocate("server", LOOPBACK, &options));
    options = defaults();
    options.protocol = 3;
    EXPECT(AM_ERR_OPTION, allocate("server", LOOPBACK, &options));
    options = defaults();
    options.durability = 99;
    EXPECT(AM_ERR_OPTION, allocate("server", LOOPBACK, &options));
    options.durability = AM_DURABILITY_PROCESS;
    EXPECT(AM_ERR_OPTION, allocate("server", LOOPBACK, &options));
    options = defaults();
    options.mtu = 4;
    EXPECT(AM_ERR_OPTION, allocate("server", LOOPBACK, &options));
    options = defaults();
    options.peers = 0;
    EXPECT(AM_ERR_FULL, allocate("server", LOOPBACK, &options));
    options = defaults();
    options.durability = AM_DURABILITY_PROCESS;
    options.log = "/dev/null/server.log";
    EXPECT(AM_ERR_LOG, allocate("server", LOOPBACK, &options));
    REQUIRE(strstr(AMVIA_LastError(), "/dev/null/server.log") != NULL);
    options = defaults();
    options.device = "nothing0";
    EXPECT(AM_ERR_OPTION, allocate("server", LOOPBACK, &options));
    EXPECT(AM_ERR_TRANSPORT, allocate("server", "verbs://127.0.0.1:0", &options));
    /* A program that was made for the first version. */
    options.size = offsetof(AM_Options, device);
    CHECK(allocate("server", LOOPBACK, &options));
}

static void handles(void) {
    AM_Bundle none = {0}, never = {12345};
    AM_Bundle freed;
    AM_Endpoint not_one = {bundle.number}, gone;
    EXPECT(AM_ERR_HANDLE, AM_Poll(none));
    EXPECT(AM_ERR_HANDLE, AM_Wait(never, 0));
    EXPECT(AM_ERR_HANDLE, AM_FreeEndpoint(not_one));
    CHECK(AM_AllocateBundle(&freed));
    CHECK(AM_AllocateEndpoint(freed, "gone", LOOPBACK, NULL, &gone));
    CHECK(AM_SetHandler(gone, ECHO, echo, NULL));
    CHECK(AM_FreeBundle(freed));
    EXPECT(AM_ERR_HANDLE, AM_FreeBundle(freed));
    EXPECT(AM_ERR_HANDLE, AM_Poll(freed));
    EXPECT(AM_ERR_HANDLE, AM_SetHandler(gone, ECHO, echo, NULL));
    EXPECT(AM_ERR_NULL, AM_SetHandler(server, ECHO, NULL, NULL));
    EXPECT(AM_ERR_OPTION, AM_SetHandler(server, 0, echo, NULL));
    AM_Token no_token = {0};
    EXPECT(AM_ERR_TOKEN, AM_Reply(no_token, 0, "x", 1));
    EXPECT(AM_ERR_TOKEN, AMVIA_ReleaseReply(no_token));
}

static void connections(const char *address) {
    AM_Options options = defaults();
    AM_Endpoint other;
    AM_Peer one, two, made_up = {42, 7};
    AM_Standing standing;
    uint64_t credits;
    options.peers = 1;
    CHECK(AM_AllocateEndpoint(bundle, "small", LOOPBACK, &options, &other));
    EXPECT(AM_ERR_ADDRESS, AMVIA_Connect(other, "server", "tcp://127.0.0.1:1", 0, &one));
    EXPECT(AM_ERR_ADDRESS, AMVIA_Connect(other, "server", "shm://server", 0, &one));
    /* Nobody listens at the port of an endpoint that was freed. */
    AM_Endpoint gone;
    char nobody[64];
    CHECK(AM_AllocateEndpoint(bundle, "gone", LOOPBACK, NULL, &gone));
    CHECK(AMVIA_Address(gone, nobody, sizeof nobody));
    CHECK(AM_FreeEndpoint(gone));
    EXPECT(AM_ERR_NO_ANSWER, AMVIA_Connect(other, "gone", nobody, 2000000, &one));
    EXPECT(AM_ERR_FULL, AMVIA_Connect(other, "server", address, LONG, &two));
    CHECK(AM_FreeEndpoint(other));

    options.window = 5;
    CHECK(AM_AllocateEndpoint(bundle, "narrow", LOOPBACK, &options, &other));
    EXPECT(AM_ERR_REFUSED, AMVIA_Connect(other, "server", address, LONG, &one));
    size_t many = 0;
    CHECK(AMVIA_Peers(other, &one, 1, &many));
    REQUIRE(many == 1);
    CHECK(AMVIA_Standing(other, one, &standing));
    REQUIRE(standing.reach == AM_UNREACHABLE && standing.refusal == AM_REFUSED_WINDOW);
    CHECK(AM_FreeEndpoint(other));

    EXPECT(AM_ERR_NOT_CONNECTED, AMVIA_Credits(client, made_up, &credits));
    AM_Counters counters;
    EXPECT(AM_ERR_NOT_CONNECTED, AMVIA_Counters(client, made_up, &counters, sizeof counters));
    EXPECT(AM_ERR_SIZE, AMVIA_Counters(client, peer, &counters, sizeof counters + 8));
    EXPECT(AM_ERR_SIZE, AMVIA_Counters(client, peer, &counters, 0));
    EXPECT(AM_ERR_NULL, AMVIA_Counters(client, peer, NULL, sizeof counters));
    AM_Transaction sent;
    EXPECT(AM_ERR_NOT_CONNECTED, AM_Request(client, made_up, ECHO, "x", 1, 0, &sent));
}

/* Calls what it may not, which would wait for itself. */
static void fill(void *data, size_t length, void *context) {
    AM_Status status;
    EXPECT(AM_ERR_IN_HANDLER, AM_Poll(bundle));
    EXPECT(AM_ERR_IN_HANDLER, AMVIA_Status(client, *(AM_Transaction *)context, &status));
    memset(data, 'x', length);
}

static void transactions(void) {
    AM_Transaction sent[2], more;
    AM_Status status;
    char reply[2];
    size_t length = 0;
    static char message[100000];
    EXPECT(AM_ERR_SPACE, AMVIA_Address(server, reply, 0));
    EXPECT(AM_ERR_TOO_LONG, AM_Request(client, peer, ECHO, message, sizeof message, 0, &more));
    EXPECT(AM_ERR_TOO_LONG, AM_Request(client, peer, ECHO, message, SIZE_MAX, 0, &more));
    EXPECT(AM_ERR_NULL, AM_Request(client, peer, ECHO, NULL, 1, 0, &more));
    EXPECT(AM_ERR_NULL, AM_Request(client, peer, ECHO, "x", 1, 0, NULL));
    EXPECT(AM_ERR_NULL, AMVIA_RequestInPlace(client, peer, ECHO, 1, NULL, NULL, 0, &more));
    EXPECT(AM_ERR_NULL, AMVIA_RequestInPlace(client, peer, ECHO, 1, fill, NULL, 0, NULL));
    EXPECT(AM_ERR_TOO_LONG, AMVIA_RequestInPlace(client, peer, ECHO, sizeof message, fill, &more, 0, &more));
    memset(&more, 0, sizeof more);
    CHECK(AMVIA_RequestInPlace(client, peer, ECHO, 2, fill, &more, 0, &more));
    CHECK(AMVIA_Finish(client, more, LONG, &status));
    CHECK(AMVIA_ReadReply(client, more, reply, sizeof reply, &length));
    REQUIRE(length == 2 && memcmp(reply, "xx", 2) == 0);
    CHECK(AMVIA_Release(client, more));
    /* Nobody has polled since: both are under way. */
    CHECK(AM_Request(client, peer, ECHO, "four", 4, 0, &sent[0]));
    CHECK(AM_Request(client, peer, ECHO, "four", 4, 0, &sent[1]));
    EXPECT(AM_ERR_NO_CREDIT, AM_Request(client, peer, ECHO, "x", 1, 0, &more));
    EXPECT(AM_ERR_UNDER_WAY, AMVIA_Release(client, sent[0]));
    CHECK(AMVIA_Finish(client, sent[0], LONG, &status));
    EXPECT(AM_ERR_KNOWN, AMVIA_Ask(client, sent[0]));
    EXPECT(AM_ERR_SPACE, AMVIA_ReadReply(client, sent[0], reply, sizeof reply, &length));
    REQUIRE(length == 4);
    AM_Transaction forged = sent[0];
    forged.slot = 60000;
    EXPECT(AM_ERR_RELEASED, AMVIA_Status(client, forged, &status));
    CHECK(AMVIA_Release(client, sent[0]));
    EXPECT(AM_ERR_RELEASED, AMVIA_Release(client, sent[0]));
    EXPECT(AM_ERR_RELEASED, AMVIA_Status(client, sent[0], &status));
    CHECK(AMVIA_Finish(client, sent[1], LONG, &status));
    CHECK(AMVIA_Release(client, sent[1]));
    /* A handler that is not there. */
    CHECK(AM_Request(client, peer, 99, "x", 1, 0, &more));
    CHECK(AMVIA_Finish(client, more, LONG, &status));
    REQUIRE(status.acknowledgement == AM_ACK_NOT_FOUND && status.operation == AM_REQUEST_SENT);
    CHECK(AMVIA_Release(client, more));
}

static void handlers(void) {
    AM_Token token = {0};
    AM_Transaction sent;
    AM_Status status;
    char reply[8];
    size_t length;
    CHECK(AM_SetHandler(server, MISBEHAVE, misbehave, &token));
    CHECK(AM_Request(client, peer, MISBEHAVE, NULL, 0, 0, &sent));
    CHECK(AMVIA_Finish(client, sent, LONG, &status));
    CHECK(AMVIA_ReadReply(client, sent, reply, sizeof reply, &length));
    REQUIRE(length == 4 && memcmp(reply, "done", 4) == 0);
    CHECK(AMVIA_Release(client, sent));
    /* The handler has returned. */
    REQUIRE(token.number != 0);
    EXPECT(AM_ERR_TOKEN, AM_Reply(token, 0, "x", 1));
    size_t left = 0;
    CHECK(AMVIA_Transactions(client, &sent, 1, &left));
    REQUIRE(left == 1);
    CHECK(AMVIA_Finish(client, sent, LONG, &status));
    CHECK(AMVIA_Release(client, sent));
}

static void forks(void) {
    pid_t child = fork();
    if (child == 0) {
        AM_Bundle own;
        AM_Endpoint mine;
        AM_Status status;
        AM_Transaction sent;
        memset(&sent, 0, sizeof sent);
        EXPECT(AM_ERR_FORKED, AM_Poll(bundle));
        EXPECT(AM_ERR_FORKED, AMVIA_Status(client, sent, &status));
        EXPECT(AM_ERR_FORKED, AM_FreeBundle(bundle));
        /* It may have a bundle of its own. */
        CHECK(AM_AllocateBundle(&own));
        CHECK(AM_AllocateEndpoint(own, "child", LOOPBACK, NULL, &mine));
        CHECK(AM_Poll(own));
        EXPECT(AM_ERR_FORKED, AM_FreeEndpoint(client));
        CHECK(AM_FreeBundle(own));
        end_child();
    }
    await_child(child);
}

/* A system that gives no memory. */
static void starve(void) {
    struct rlimit before, none;
    REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
    none = before;
    none.rlim_cur = 1;
    AM_Bundle unmade;
    REQUIRE(setrlimit(RLIMIT_AS, &none) == 0);
    AM_Error given = AM_AllocateBundle(&unmade);
    REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
    REQUIRE(given == AM_ERR_SYSTEM);
    REQUIRE(strstr(AMVIA_LastError(), "memory") != NULL);
}

int main(int count, char **arguments) {
    REQUIRE(strcmp(AMVIA_LastError(), "") == 0);
    AM_Bundle none = {1};
    EXPECT(AM_ERR_HANDLE, AM_Poll(none));
    CHECK(AM_AllocateBundle(&bundle));
    options_and_texts();
    AM_Options options = defaults();
    options.window = 2;
    char address[64];
    CHECK(AM_AllocateEndpoint(bundle, "server", LOOPBACK, &options, &server));
    CHECK(AM_SetHandler(server, ECHO, echo, NULL));
    CHECK(AM_AllocateEndpoint(bundle, "client", LOOPBACK, &options, &client));
    CHECK(AMVIA_Address(server, address, sizeof address));
    CHECK(AMVIA_Connect(client, "server", address, LONG, &peer));
    handles();
    connections(address);
    transactions();
    handlers();
    forks();
    if (count == 1)
        starve();
    CHECK(AM_FreeBundle(bundle));
    (void)arguments;
    return 0;
}
