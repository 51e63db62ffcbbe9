/* aside FOLDER [checked]: a log is set aside, and the endpoint begins a new one. */
#include "check.h"
#include <unistd.h>

int main(int count, char **words) {
    char folder[200], log[220], name[240], expected[240];
    AM_Options options;
    AM_Bundle bundle;
    AM_Endpoint made;
    REQUIRE(count > 1);
    snprintf(folder, sizeof folder, "%s/XXXXXX", words[1]);
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(log, sizeof log, "%s/a.log", folder);
    CHECK(AM_InitOptions(&options, sizeof options));
    options.durability = AM_DURABILITY_PROCESS;
    options.log = log;
    CHECK(AM_AllocateBundle(&bundle));

    EXPECT(AM_ERR_NULL, AMVIA_SetAside(NULL, NULL, 0));
    EXPECT(AM_ERR_NULL, AMVIA_SetAside(log, NULL, 1));
    EXPECT(AM_ERR_LOG, AMVIA_SetAside(log, NULL, 0));
    for (int number = 1; number <= 2; number++) {
        /* Another window each time: the old log could not be opened with it. */
        options.window = 4 + number;
        CHECK(AM_AllocateEndpoint(bundle, "server", "udp://127.0.0.1:0", &options, &made));
        EXPECT(AM_ERR_LOG, AMVIA_SetAside(log, name, sizeof name));
        REQUIRE(strstr(AMVIA_LastError(), "in use") != NULL);
        CHECK(AM_FreeEndpoint(made));
        /* Nothing is done where there is no room for the name. */
        EXPECT(AM_ERR_SPACE, AMVIA_SetAside(log, name, strlen(log) + 17));
        REQUIRE(access(log, F_OK) == 0);
        CHECK(AMVIA_SetAside(log, name, strlen(log) + 18));
        snprintf(expected, sizeof expected, "%s.aside-%d", log, number);
        REQUIRE(strcmp(name, expected) == 0);
        REQUIRE(access(log, F_OK) != 0 && access(name, F_OK) == 0);
    }
    return AM_FreeBundle(bundle) != AM_OK;
}
