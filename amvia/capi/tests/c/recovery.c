/* recovery PROGRAM SERVER CLIENT FOLDER: a client makes requests and is killed with kill -9; its next life finds in the log
 * what became of them, and each has run once. */
#include "handlers.h"

static AM_Bundle bundle;
static AM_Endpoint client;

static void allocate(const char *address, const char *log) {
    AM_Options options;
    CHECK(AM_InitOptions(&options, sizeof options));
    options.log = log;
    options.durability = AM_DURABILITY_PROCESS;
    CHECK(AM_AllocateBundle(&bundle));
    CHECK(AM_AllocateEndpoint(bundle, "client", address, &options, &client));
}

static unsigned reply_of(AM_Transaction sent) {
    unsigned reply = 0;
    size_t length;
    CHECK(AMVIA_ReadReply(client, sent, &reply, sizeof reply, &length));
    REQUIRE(length == sizeof reply);
    return reply;
}

/* The first life: one request whose reply is there, and one that is under way. It tells its address: the next life has to
 * be there, too. */
static void live_and_die(const char *server, const char *address, const char *log, int told) {
    AM_Peer peer;
    AM_Transaction sent;
    AM_Status status;
    char own[128] = "";
    allocate(address, log);
    CHECK(AMVIA_Address(client, own, sizeof own));
    REQUIRE(write(told, own, sizeof own) == sizeof own);
    CHECK(AMVIA_Connect(client, "server", server, LONG, &peer));
    CHECK(AM_Request(client, peer, NUMBER, NULL, 0, 0, &sent));
    CHECK(AMVIA_Finish(client, sent, LONG, &status));
    REQUIRE(status.operation == AM_PROCESSED && reply_of(sent) == 1);
    CHECK(AM_Request(client, peer, NUMBER, NULL, 0, 0, &sent));
    raise(SIGKILL);
}

int main(int count, char **arguments) {
    REQUIRE(count == 5);
    char log[512];
    snprintf(log, sizeof log, "%s/client.log", arguments[4]);
    Server server = start(arguments[1], "server", arguments[2], "-");

    int ends[2];
    char address[128];
    REQUIRE(pipe(ends) == 0);
    pid_t life = fork();
    REQUIRE(life >= 0);
    if (life == 0)
        live_and_die(server.address, arguments[3], log, ends[1]);
    REQUIRE(read(ends[0], address, sizeof address) == sizeof address);
    int how = 0;
    REQUIRE(waitpid(life, &how, 0) == life);
    REQUIRE(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);

    allocate(address, log);
    AM_Transaction found[4];
    size_t many = 0;
    CHECK(AMVIA_Transactions(client, NULL, 0, &many));
    REQUIRE(many == 2);
    CHECK(AMVIA_Transactions(client, found, 4, &many));
    REQUIRE(many == 2);
    if (found[0].id.sequence > found[1].id.sequence) {
        AM_Transaction other = found[0];
        found[0] = found[1];
        found[1] = other;
    }
    /* The reply of the first is in the log; the second was under way. */
    AM_Status status;
    CHECK(AMVIA_Status(client, found[0], &status));
    REQUIRE(status.operation == AM_PROCESSED && reply_of(found[0]) == 1);
    CHECK(AMVIA_Status(client, found[1], &status));
    REQUIRE(!status.is_final);

    AM_Peer peer;
    CHECK(AMVIA_Connect(client, "server", server.address, LONG, &peer));
    REQUIRE(peer.endpoint == found[1].peer.endpoint);
    CHECK(AMVIA_Finish(client, found[1], LONG, &status));
    REQUIRE(status.operation == AM_PROCESSED && reply_of(found[1]) == 2);
    CHECK(AMVIA_Release(client, found[0]));
    CHECK(AMVIA_Release(client, found[1]));
    EXPECT(AM_ERR_RELEASED, AMVIA_Status(client, found[0], &status));

    /* A third run: the second has run once, though it was sent by two lives. */
    AM_Transaction third;
    CHECK(AM_Request(client, peer, NUMBER, NULL, 0, 0, &third));
    CHECK(AMVIA_Finish(client, third, LONG, &status));
    REQUIRE(status.operation == AM_PROCESSED && reply_of(third) == 3);
    CHECK(AM_FreeBundle(bundle));
    stop(&server);
    return 0;
}
