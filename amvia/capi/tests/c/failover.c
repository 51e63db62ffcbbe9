/* failover PROGRAM FIRST SECOND CLIENT FOLDER: section 3.2.3 of the paper. A server is killed with two requests under way.
 * The client cannot know what became of them; it asks when the server is back, and sends the one that has not run to another
 * server. */
#include "handlers.h"

static AM_Endpoint client;

static AM_Transaction request(AM_Peer peer, uint16_t handler, const char *text) {
    AM_Transaction sent;
    CHECK(AM_Request(client, peer, handler, text, strlen(text), 0, &sent));
    return sent;
}

static AM_Status finish(AM_Transaction sent) {
    AM_Status status;
    CHECK(AMVIA_Finish(client, sent, LONG, &status));
    return status;
}

/* Asks until the target has answered. */
static AM_Status truth(AM_Transaction sent) {
    AM_Status status = finish(sent);
    while (status.is_unknown) {
        CHECK(AMVIA_Ask(client, sent));
        status = finish(sent);
    }
    REQUIRE(status.is_final);
    return status;
}

static void require_reply(AM_Transaction sent, const char *text) {
    char reply[64];
    size_t length;
    CHECK(AMVIA_ReadReply(client, sent, reply, sizeof reply, &length));
    REQUIRE(length == strlen(text) && memcmp(reply, text, length) == 0);
}

/* Connects to a server that is there, but may be slower than the few retransmissions here are patient. */
static AM_Peer reach(const char *name, const char *address) {
    AM_Peer peer;
    AM_Error answer;
    do
        answer = AMVIA_Connect(client, name, address, LONG, &peer);
    while (answer == AM_ERR_NO_ANSWER);
    CHECK(answer);
    return peer;
}

/* Has a server that is there echo a text. One that is too slow to begin is asked again. */
static AM_Transaction echo(AM_Peer peer, const char *text) {
    AM_Transaction sent = request(peer, ECHO, text);
    while (truth(sent).operation == AM_NOT_RUN) {
        CHECK(AMVIA_Release(client, sent));
        sent = request(peer, ECHO, text);
    }
    REQUIRE(truth(sent).operation == AM_PROCESSED);
    require_reply(sent, text);
    return sent;
}

int main(int count, char **arguments) {
    REQUIRE(count == 6);
    const char *program = arguments[1];
    char log[512];
    snprintf(log, sizeof log, "%s/first.log", arguments[5]);
    Server first = start(program, "first", arguments[2], log);
    Server second = start(program, "second", arguments[3], "-");

    AM_Options options;
    CHECK(AM_InitOptions(&options, sizeof options));
    options.request_retransmissions = options.reply_retransmissions = 3;
    options.initial_rto = options.max_rto = 50000000;
    AM_Bundle bundle;
    CHECK(AM_AllocateBundle(&bundle));
    CHECK(AM_AllocateEndpoint(bundle, "client", arguments[4], &options, &client));
    AM_Peer to_first = reach("first", first.address);
    AM_Peer to_second = reach("second", second.address);
    AM_Transaction served = echo(to_first, "served");

    /* One request runs when the server is killed, another is made after that. */
    char line[64];
    AM_Transaction held = request(to_first, HOLD, "held");
    read_line(&first, line, sizeof line);
    REQUIRE(strcmp(line, "started") == 0);
    stop(&first);
    AM_Transaction lost = request(to_first, ECHO, "lost");
    AM_Status status = finish(lost);
    REQUIRE(status.acknowledgement == AM_NOT_ACKED && status.operation == AM_REQUEST_RTX_EXCEEDED);
    REQUIRE(status.is_unknown && !status.is_final);
    REQUIRE(finish(held).is_unknown);
    /* Nobody answers a question now. */
    CHECK(AMVIA_Ask(client, lost));
    REQUIRE(finish(lost).is_unknown);
    /* What was known before is known. */
    require_reply(served, "served");

    Server again = start(program, "first", first.address, log);
    REQUIRE(truth(lost).operation == AM_NOT_RUN);
    REQUIRE(truth(held).operation == AM_INDETERMINATE);
    EXPECT(AM_ERR_KNOWN, AMVIA_Ask(client, lost));

    /* "Not run" never becomes anything else: the request may go to another server. */
    AM_Transaction moved = echo(to_second, "lost");
    /* The first serves again. */
    AM_Transaction later = echo(to_first, "later");
    AM_Transaction all[] = {served, lost, held, moved, later};
    for (size_t one = 0; one < sizeof all / sizeof *all; one++)
        CHECK(AMVIA_Release(client, all[one]));
    stop(&again);
    stop(&second);
    CHECK(AM_FreeBundle(bundle));
    return 0;
}
