/* server NAME ADDRESS LOG: serves until it is killed. LOG may be "-". Writes its address to stdout, and "started" when the
 * handler that holds has started. */
#include "check.h"
#include "handlers.h"
#include <unistd.h>

static void echo(AM_Token token, const void *data, size_t length, void *context) {
    (void)context;
    CHECK(AM_Reply(token, 0, data, length));
}

static void hold(AM_Token token, const void *data, size_t length, void *context) {
    (void)token, (void)data, (void)length, (void)context;
    puts("started");
    for (;;)
        pause();
}

/* Replies how often it has run. */
static void number(AM_Token token, const void *data, size_t length, void *context) {
    unsigned *runs = (unsigned *)context;
    (void)data, (void)length;
    *runs += 1;
    CHECK(AM_Reply(token, 0, runs, sizeof *runs));
}

int main(int count, char **arguments) {
    REQUIRE(count == 4);
    setvbuf(stdout, NULL, _IOLBF, 0);
    AM_Options options;
    CHECK(AM_InitOptions(&options, sizeof options));
    if (strcmp(arguments[3], "-") != 0) {
        options.log = arguments[3];
        options.durability = AM_DURABILITY_PROCESS;
    }
    AM_Bundle bundle;
    AM_Endpoint server;
    unsigned runs = 0;
    CHECK(AM_AllocateBundle(&bundle));
    CHECK(AM_AllocateEndpoint(bundle, arguments[1], arguments[2], &options, &server));
    CHECK(AM_SetHandler(server, ECHO, echo, NULL));
    CHECK(AM_SetHandler(server, HOLD, hold, NULL));
    CHECK(AM_SetHandler(server, NUMBER, number, &runs));
    char address[128];
    CHECK(AMVIA_Address(server, address, sizeof address));
    puts(address);
    for (;;)
        CHECK(AM_Wait(bundle, AM_FOREVER));
}
