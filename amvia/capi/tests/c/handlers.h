/* The handlers of server.c, and how it is started and killed. */
#ifndef HANDLERS_H
#define HANDLERS_H

#include "check.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ECHO = 1, HOLD = 2, NUMBER = 3 };

/* A server in a process of its own. */
typedef struct {
    pid_t process;
    FILE *says;
    char address[128];
} Server;

static inline void read_line(Server *server, char *line, int room) {
    REQUIRE(fgets(line, room, server->says) != NULL);
    line[strcspn(line, "\n")] = 0;
}

static inline Server start(const char *program, const char *name, const char *address, const char *log) {
    Server server;
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    server.process = fork();
    REQUIRE(server.process >= 0);
    if (server.process == 0) {
        /* It ends with the program that has started it. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, name, address, log, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    server.says = fdopen(ends[0], "r");
    REQUIRE(server.says != NULL);
    read_line(&server, server.address, sizeof server.address);
    return server;
}

static inline void stop(Server *server) {
    REQUIRE(kill(server->process, SIGKILL) == 0);
    REQUIRE(waitpid(server->process, NULL, 0) == server->process);
    fclose(server->says);
}

#endif
