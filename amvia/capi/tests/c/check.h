/* What the programs have in common. */
#ifndef CHECK_H
#define CHECK_H

#include <amvia.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Long enough for any machine; nothing waits for its end. */
#define LONG UINT64_C(60000000000)

/* Ends the program unless a call gives the code. */
#define EXPECT(code, call)                                                                         \
    do {                                                                                           \
        AM_Error given_ = (call);                                                                  \
        if (given_ != (code)) {                                                                    \
            fprintf(stderr, "%s:%d: %s: %d: %s\n", __FILE__, __LINE__, #call, (int)given_,         \
                    AMVIA_LastError());                                                            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define CHECK(call) EXPECT(AM_OK, call)

/* Ends the program unless something holds. */
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#endif
