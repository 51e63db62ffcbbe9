/* names SERVER KEY OTHER-KEY: an endpoint registers with a name server, and is found by its name. */
#include "check.h"

static void hello(AM_Token token, const void *data, size_t length, void *context) {
    (void)data, (void)length, (void)context;
    CHECK(AM_Reply(token, 0, "hello", 5));
}

int main(int count, char **arguments) {
    REQUIRE(count >= 4);
    const char *names = arguments[1], *key = arguments[2], *other_key = arguments[3];
    AM_Bundle bundle;
    AM_Endpoint server, client, everywhere;
    CHECK(AM_AllocateBundle(&bundle));
    CHECK(AM_AllocateEndpoint(bundle, "greeter", "udp://127.0.0.1:0", NULL, &server));
    CHECK(AM_SetHandler(server, 1, hello, NULL));

    /* A later endpoint of the name is registered: the earlier is refused until that is freed. */
    AM_Endpoint later;
    CHECK(AM_AllocateEndpoint(bundle, "greeter", "udp://127.0.0.1:0", NULL, &later));
    CHECK(AMVIA_RegisterEndpoint(later, names, key, 0, LONG));
    EXPECT(AM_ERR_NAME_TAKEN, AMVIA_RegisterEndpoint(server, names, key, 0, LONG));
    CHECK(AM_FreeEndpoint(later));

    EXPECT(AM_ERR_NOT_FOUND, AMVIA_CheckRegistration(server));
    CHECK(AMVIA_RegisterEndpoint(server, names, key, 0, LONG));
    CHECK(AMVIA_CheckRegistration(server));
    /* Again: with a shorter lease. */
    CHECK(AMVIA_RegisterEndpoint(server, names, key, UINT64_C(2000000000), LONG));

    char address[128], is[128];
    CHECK(AMVIA_LookUp(names, key, "greeter", LONG, address, sizeof address));
    CHECK(AMVIA_Address(server, is, sizeof is));
    REQUIRE(strcmp(address, is) == 0);
    AM_Peer peer;
    AM_Transaction sent;
    AM_Status status;
    CHECK(AM_AllocateEndpoint(bundle, "client", "udp://127.0.0.1:0", NULL, &client));
    CHECK(AMVIA_Connect(client, "greeter", address, LONG, &peer));
    CHECK(AM_Request(client, peer, 1, NULL, 0, 0, &sent));
    CHECK(AMVIA_Finish(client, sent, LONG, &status));
    REQUIRE(status.operation == AM_PROCESSED);

    EXPECT(AM_ERR_NOT_FOUND, AMVIA_LookUp(names, key, "nobody", LONG, address, sizeof address));
    EXPECT(AM_ERR_NAME, AMVIA_LookUp(names, key, "No Name", LONG, address, sizeof address));
    EXPECT(AM_ERR_SPACE, AMVIA_LookUp(names, key, "greeter", LONG, address, 5));
    EXPECT(AM_ERR_ADDRESS, AMVIA_LookUp("here", key, "greeter", LONG, address, sizeof address));
    EXPECT(AM_ERR_KEY, AMVIA_LookUp(names, "/dev/null", "greeter", LONG, address, sizeof address));
    /* A server does not answer those who have another key. */
    EXPECT(AM_ERR_NO_ANSWER,
           AMVIA_LookUp(names, other_key, "greeter", 100000000, address, sizeof address));
    EXPECT(AM_ERR_OPTION, AMVIA_RegisterEndpoint(client, names, key, 1, LONG));
    CHECK(AM_AllocateEndpoint(bundle, "everywhere", "udp://0.0.0.0:0", NULL, &everywhere));
    EXPECT(AM_ERR_ADDRESS, AMVIA_RegisterEndpoint(everywhere, names, key, 0, LONG));

    /* Who is freed is unregistered. */
    CHECK(AM_FreeEndpoint(server));
    EXPECT(AM_ERR_NOT_FOUND, AMVIA_LookUp(names, key, "greeter", LONG, address, sizeof address));
    CHECK(AM_FreeBundle(bundle));
    return 0;
}
