/**
 * Active messages that know what became of them.
 *
 * The names are those of Kaur, "Performability Modeling and Analysis of Fault Tolerance Support in
 * Communication Protocols" (Rutgers, 2000), chapter 3, and of the Active Messages specification that
 * it follows. docs/amvia.md says what is promised. Made by cbindgen: not to be edited.
 *
 * Errors. Every function returns AM_OK or what hindered it; AMVIA_LastError() has the sentence. A
 * function that fails has done nothing, unless it says so. Bundles and endpoints are numbers: one
 * that is unknown or was freed is refused. A pointer is null, which is refused, or points to memory
 * of the size that goes with it; a text ends with a zero byte. The library keeps no pointer but the
 * context of a handler.
 *
 * Sizes. AM_Request() and AM_Reply() take a length; the three sizes of the paper are three ranges of
 * it: short (to AM_SHORT bytes), medium (to AM_MEDIUM), bulk (longer). What does not fit into one
 * frame goes in segments; `message` of AM_Options is the most.
 *
 * Times are in nanoseconds. As a timeout 0 does not wait, and AM_FOREVER has no end.
 *
 * Threads. Every function may be called from every thread. Handlers run in AM_Poll(), AM_Wait() and
 * whatever else waits, on the thread that calls, one at a time in a bundle. While one runs, a thread
 * of the bundle acknowledges what arrives.
 *
 * Handlers. A handler may make requests and poll, which runs no other handler of its bundle. What
 * waits for its own bundle or frees is refused there with AM_ERR_IN_HANDLER. A handler returns: it
 * does not leave by longjmp. An exception of C++ that leaves it ends the process.
 *
 * Fork. A child of fork has no endpoint: every call says AM_ERR_FORKED until it has allocated a
 * bundle of its own.
 */


#ifndef AMVIA_H
#define AMVIA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Bytes of a short message at most.
 */
#define AM_SHORT 32

/**
 * Bytes of a medium message at most.
 */
#define AM_MEDIUM 128

/**
 * A timeout without end.
 */
#define AM_FOREVER UINT64_MAX

/**
 * What hindered a function.
 */
typedef enum {
    /**
     * Nothing.
     */
    AM_OK = 0,
    /**
     * A pointer is null.
     */
    AM_ERR_NULL = 1,
    /**
     * A text is not UTF-8.
     */
    AM_ERR_TEXT = 2,
    /**
     * The size of a structure is none that this library knows.
     */
    AM_ERR_SIZE = 3,
    /**
     * There is no such bundle or endpoint, or it was freed.
     */
    AM_ERR_HANDLE = 4,
    /**
     * The token is not that of a handler that runs on this thread.
     */
    AM_ERR_TOKEN = 5,
    /**
     * The process is a child of the one that allocated what is used.
     */
    AM_ERR_FORKED = 6,
    /**
     * A handler of this thread, or what fills a request, has not returned.
     */
    AM_ERR_IN_HANDLER = 7,
    /**
     * A name is none.
     */
    AM_ERR_NAME = 8,
    /**
     * An address is none, or is of another transport.
     */
    AM_ERR_ADDRESS = 9,
    /**
     * An option is out of its range, or contradicts another; 0 is no number of a handler.
     */
    AM_ERR_OPTION = 10,
    /**
     * There is no room for another peer, or for another name at the name server.
     */
    AM_ERR_FULL = 11,
    /**
     * There is no such peer.
     */
    AM_ERR_NOT_CONNECTED = 12,
    /**
     * The peer or the name server does not answer.
     */
    AM_ERR_NO_ANSWER = 13,
    /**
     * The peer refuses to be connected.
     */
    AM_ERR_REFUSED = 14,
    /**
     * As many transactions as the window holds are not released.
     */
    AM_ERR_NO_CREDIT = 15,
    /**
     * The message is longer than the peer takes.
     */
    AM_ERR_TOO_LONG = 16,
    /**
     * The transaction was released, or is of another endpoint.
     */
    AM_ERR_RELEASED = 17,
    /**
     * The transaction is under way.
     */
    AM_ERR_UNDER_WAY = 18,
    /**
     * What became of the transaction is known.
     */
    AM_ERR_KNOWN = 19,
    /**
     * There is no room for the answer.
     */
    AM_ERR_SPACE = 20,
    /**
     * The log cannot be opened or set aside, or is broken.
     */
    AM_ERR_LOG = 21,
    /**
     * The transport cannot be opened, or is broken.
     */
    AM_ERR_TRANSPORT = 22,
    /**
     * The system refuses.
     */
    AM_ERR_SYSTEM = 23,
    /**
     * The key of the cluster cannot be read.
     */
    AM_ERR_KEY = 24,
    /**
     * Another endpoint has the name, or a later life of this one.
     */
    AM_ERR_NAME_TAKEN = 25,
    /**
     * The name is not registered.
     */
    AM_ERR_NOT_FOUND = 26,
    /**
     * A fault of the library. What was called may be half done.
     */
    AM_ERR_FAULT = 27,
} AM_Error;

/**
 * How far a connection is.
 */
typedef enum {
    /**
     * The peer has not answered yet.
     */
    AM_CONNECTING = 0,
    /**
     * The peer has answered.
     */
    AM_CONNECTED = 1,
    /**
     * The peer does not answer, or refuses.
     */
    AM_UNREACHABLE = 2,
} AM_Reach;

/**
 * Why a peer refuses to be connected.
 */
typedef enum {
    /**
     * It does not refuse.
     */
    AM_NOT_REFUSED = 0,
    /**
     * There is no such endpoint at the address.
     */
    AM_REFUSED_NO_ENDPOINT = 1,
    /**
     * The peer speaks another protocol.
     */
    AM_REFUSED_PROTOCOL = 2,
    /**
     * The peer has another window.
     */
    AM_REFUSED_WINDOW = 3,
    /**
     * The peer knows a later incarnation of this endpoint.
     */
    AM_REFUSED_OLD_INCARNATION = 4,
    /**
     * The peer has no room for another connection.
     */
    AM_REFUSED_FULL = 5,
    /**
     * The peer is connected to another endpoint of this name.
     */
    AM_REFUSED_NAME_IN_USE = 6,
} AM_Refusal;

/**
 * The first part of a state: what is known of the acknowledgement, or of the reply.
 */
typedef enum {
    /**
     * No acknowledgement yet.
     */
    AM_NOT_ACKED = 0,
    /**
     * The target has the request, and knows its handler.
     */
    AM_ACKED = 1,
    /**
     * The target has no such handler.
     */
    AM_ACK_NOT_FOUND = 2,
    /**
     * A negative acknowledgement was sent (at the target).
     */
    AM_ERR_ACK = 3,
    /**
     * Acknowledged, and then no reply after all retransmissions.
     */
    AM_REPLY_RTX_EXCEEDED = 4,
    /**
     * The target has freed its record.
     */
    AM_STALE = 5,
} AM_Acknowledgement;

/**
 * The second part of a state: what is known of the operation.
 */
typedef enum {
    /**
     * Nothing has been sent.
     */
    AM_NOT_PROCESSED = 0,
    /**
     * The request has been sent.
     */
    AM_REQUEST_SENT = 1,
    /**
     * The target works on it.
     */
    AM_REQUEST_PROCESSING = 2,
    /**
     * The handler has run once, and its reply is here.
     */
    AM_PROCESSED = 3,
    /**
     * The handler has run once, and its reply is gone.
     */
    AM_PROCESSED_WITHOUT_REPLY = 4,
    /**
     * No acknowledgement after all retransmissions.
     */
    AM_REQUEST_RTX_EXCEEDED = 5,
    /**
     * The target stopped waiting for the handler, which may have had effects.
     */
    AM_HANDLER_TIME_EXCEEDED = 6,
    /**
     * The handler has not run and never will.
     */
    AM_NOT_RUN = 7,
    /**
     * Nobody can ever know whether the handler ran.
     */
    AM_INDETERMINATE = 8,
    /**
     * The request is in the target's log (at the target).
     */
    AM_REQUEST_RECVD = 9,
    /**
     * The target has acknowledged, and the handler has not started (at the target).
     */
    AM_REPLY_NOT_SENT = 10,
    /**
     * The handler has started (at the target).
     */
    AM_HANDLER_STARTED = 11,
    /**
     * The reply is logged and has been sent (at the target).
     */
    AM_REPLY_SENT = 12,
    /**
     * The handler has run over its time (at the target).
     */
    AM_HANDLER_TIMEOUT = 13,
} AM_Operation;

/**
 * The protocol of an endpoint; both ends of a connection must have the same.
 */
typedef enum {
    /**
     * Request, acknowledgement, reply.
     */
    AM_PROTOCOL_AMVIA = 0,
    /**
     * Request, reply, acknowledgement of the reply.
     */
    AM_PROTOCOL_AMUDP = 1,
    /**
     * Request and reply.
     */
    AM_PROTOCOL_TWO_WAY = 2,
} AM_Protocol;

/**
 * What the log of an endpoint survives.
 */
typedef enum {
    /**
     * Nothing: it is memory of the process.
     */
    AM_DURABILITY_NONE = 0,
    /**
     * The end of the process, by kill -9 too.
     */
    AM_DURABILITY_PROCESS = 1,
    /**
     * A power cut.
     */
    AM_DURABILITY_POWER = 2,
} AM_Durability;

/**
 * Endpoints that are polled together.
 */
typedef struct {
    /**
     * Its number in this process; 0 is none.
     */
    uint64_t number;
} AM_Bundle;

/**
 * What can be chosen of an endpoint. AM_InitOptions() fills it. Later versions may add members at the end.
 */
typedef struct {
    /**
     * Bytes of the structure: that is how the library knows the version.
     */
    size_t size;
    /**
     * The file of the log; a null pointer with AM_DURABILITY_NONE.
     */
    const char *log;
    /**
     * An AM_Durability.
     */
    uint32_t durability;
    /**
     * An AM_Protocol.
     */
    uint32_t protocol;
    /**
     * Maximum number of transactions under way with one peer, in each direction: the credits, 1 to 64. Both ends must have the same.
     */
    uint32_t window;
    /**
     * Peers at most.
     */
    uint32_t peers;
    /**
     * Bytes of a frame at most; 0: as the transport has it. The lesser of both ends counts.
     */
    uint32_t mtu;
    /**
     * Bytes of a message at most.
     */
    uint32_t message;
    /**
     * Segments of a message that go out before the receiver says what it has, 1 to 64.
     */
    uint32_t burst;
    /**
     * Retransmissions without an acknowledgement before a request is abandoned (k).
     */
    uint32_t request_retransmissions;
    /**
     * Retransmissions without a word after the acknowledgement before the reply is abandoned (N).
     */
    uint32_t reply_retransmissions;
    /**
     * 0.
     */
    uint32_t reserved;
    /**
     * The floor of the timeout.
     */
    uint64_t min_rto;
    /**
     * The ceiling of the timeout.
     */
    uint64_t max_rto;
    /**
     * The timeout before the first round trip is known.
     */
    uint64_t initial_rto;
    /**
     * The interval at which the program polls.
     */
    uint64_t granularity;
    /**
     * How long the acknowledgement waits for the reply, to ride on it; 0: it goes at once. AMVIA alone.
     */
    uint64_t ack_delay;
    /**
     * How long a handler is given before a missing reply is taken for abandoned. AMUDP and two-way alone.
     */
    uint64_t reply_wait;
    /**
     * How long the target waits for a handler that has started; 0: for ever.
     */
    uint64_t handler_time;
    /**
     * How long the target keeps the records of a client without a word from it.
     */
    uint64_t lease;
    /**
     * The RDMA device of an endpoint over verbs; a null pointer: the first one with a port that is up.
     */
    const char *device;
} AM_Options;

/**
 * An endpoint.
 */
typedef struct {
    /**
     * Its number in this process; 0 is none.
     */
    uint64_t number;
} AM_Endpoint;

/**
 * A peer of an endpoint. It is a value: it may be copied and kept.
 */
typedef struct {
    /**
     * The hash of the peer's name.
     */
    uint64_t endpoint;
    /**
     * Its number at this endpoint.
     */
    uint32_t number;
} AM_Peer;

/**
 * How far the connection to a peer is.
 */
typedef struct {
    /**
     * How far.
     */
    AM_Reach reach;
    /**
     * Why the peer refuses, if it does.
     */
    AM_Refusal refusal;
    /**
     * The incarnation in which the peer has answered; 0 if it has not.
     */
    uint32_t incarnation;
} AM_Standing;

/**
 * What has happened on the connection to a peer. Later versions may add members at the end.
 */
typedef struct {
    /**
     * Requests made.
     */
    uint64_t requests;
    /**
     * Requests sent again because no answer came.
     */
    uint64_t retransmissions;
    /**
     * Those of them that were needless: the answer to an earlier attempt came after them.
     */
    uint64_t needless;
    /**
     * Questions for the reply after the acknowledgement.
     */
    uint64_t pulls;
    /**
     * Connects sent beside retransmissions.
     */
    uint64_t renewals;
    /**
     * Acknowledgements sent in frames of their own.
     */
    uint64_t acks_alone;
    /**
     * Acknowledgements that rode on their reply.
     */
    uint64_t acks_riding;
    /**
     * Handlers started.
     */
    uint64_t started;
    /**
     * Requests that came again.
     */
    uint64_t duplicates;
    /**
     * Frames with a wrong tag.
     */
    uint64_t wrong_tag;
    /**
     * Frames from a peer that has not been connected yet.
     */
    uint64_t unconnected;
    /**
     * Frames that no honest peer sends.
     */
    uint64_t malformed;
    /**
     * Requests that found no free slot in the receive pool.
     */
    uint64_t no_room;
    /**
     * Transactions given up, since no answer came to any attempt.
     */
    uint64_t abandoned;
} AM_Counters;

/**
 * The message that a handler runs for. It holds in this run of the handler and on its thread.
 */
typedef struct {
    /**
     * Its number; 0 is none.
     */
    uint64_t number;
} AM_Token;

/**
 * A function that runs when a message arrives. `data` has `length` bytes, where they landed; they are there until it
 * returns.
 */
typedef void (*AM_Handler)(AM_Token token, const void *data, size_t length, void *context);

/**
 * The name of a transaction.
 */
typedef struct {
    /**
     * The hash of the name of the endpoint that made the request.
     */
    uint64_t initiator;
    /**
     * The number of the request.
     */
    uint64_t sequence;
    /**
     * The incarnation of the endpoint when it made the request.
     */
    uint32_t incarnation;
} AM_TransactionId;

/**
 * A transaction that an endpoint has begun. It is a value: it may be copied and kept, in a file too. It holds until the
 * transaction is released, in later lives of an endpoint with a log too.
 */
typedef struct {
    /**
     * Its name.
     */
    AM_TransactionId id;
    /**
     * The peer that the request was made of.
     */
    AM_Peer peer;
    /**
     * Its slot in the send pool.
     */
    uint16_t slot;
} AM_Transaction;

/**
 * A function that writes the `length` bytes of a request at `data`, where they stay. The library refuses the calls that it makes.
 */
typedef void (*AM_Fill)(void *data, size_t length, void *context);

/**
 * The state of a transaction: <acknowledgement, operation>.
 */
typedef struct {
    /**
     * The state of the acknowledgement or the reply.
     */
    AM_Acknowledgement acknowledgement;
    /**
     * The state of the operation.
     */
    AM_Operation operation;
    /**
     * Nothing can change it any more but its release.
     */
    bool is_final;
    /**
     * Its target can be asked what became of it: AMVIA_Ask().
     */
    bool is_unknown;
    /**
     * As text, "<ACKED, PROCESSED>": for ever there.
     */
    const char *text;
} AM_Status;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Allocates a bundle, which has no endpoint yet.
 */
AM_Error AM_AllocateBundle(AM_Bundle *bundle);

/**
 * Frees a bundle and its endpoints; waits until a handler that runs has returned. Logs stay. Not from a handler.
 */
AM_Error AM_FreeBundle(AM_Bundle bundle);

/**
 * Allocates the endpoint called `name` at an address, and takes up what its log holds. The address is "udp://HOST:PORT",
 * "verbs://HOST:PORT", where port 0 is any free one, or "shm://NAME". `options` may be a null pointer.
 */
AM_Error AM_AllocateEndpoint(AM_Bundle bundle,
                             const char *name,
                             const char *address,
                             const AM_Options *options,
                             AM_Endpoint *endpoint);

/**
 * Frees an endpoint, after it is unregistered; waits until a handler of it that runs has returned. Its log stays. Not from a
 * handler.
 */
AM_Error AM_FreeEndpoint(AM_Endpoint endpoint);

/**
 * Takes what has arrived, does what is due, and runs a handler that is due. Does not wait.
 */
AM_Error AM_Poll(AM_Bundle bundle);

/**
 * Polls; where nothing was there, waits for something at most so long, and polls again. Returns after a millisecond at the
 * latest: what another thread has done meanwhile is to be looked for.
 */
AM_Error AM_Wait(AM_Bundle bundle,
                 uint64_t at_most);

/**
 * The address by which others reach an endpoint: `room` bytes at `address`, the zero byte at the end among them.
 */
AM_Error AMVIA_Address(AM_Endpoint endpoint,
                       char *address,
                       size_t room);

/**
 * The incarnation of an endpoint: it grows with each life.
 */
AM_Error AMVIA_Incarnation(AM_Endpoint endpoint, uint32_t *incarnation);

/**
 * Connects to the endpoint called `name` at `address`, and polls until it has answered, at most so long. With a timeout of 0
 * it begins to connect, and AMVIA_Standing() says how far it is. A peer that was there before is looked for at the new
 * address.
 */
AM_Error AMVIA_Connect(AM_Endpoint endpoint,
                       const char *name,
                       const char *address,
                       uint64_t at_most,
                       AM_Peer *peer);

/**
 * How far the connection to a peer is.
 */
AM_Error AMVIA_Standing(AM_Endpoint endpoint, AM_Peer peer, AM_Standing *standing);

/**
 * The peers of an endpoint, those that have connected by themselves among them: as many as there is room for, and in `count`
 * how many there are.
 */
AM_Error AMVIA_Peers(AM_Endpoint endpoint,
                     AM_Peer *peers,
                     size_t room,
                     size_t *count);

/**
 * Requests that can be made of a peer before one is released.
 */
AM_Error AMVIA_Credits(AM_Endpoint endpoint, AM_Peer peer, uint64_t *credits);

/**
 * What has happened on the connection to a peer: AMVIA_Counters(endpoint, peer, &counters, sizeof counters).
 */
AM_Error AMVIA_Counters(AM_Endpoint endpoint,
                        AM_Peer peer,
                        AM_Counters *counters,
                        size_t size);

/**
 * Why the last function that failed on this thread has failed: a sentence. Empty if none has. The text is there until the
 * next failure on this thread, or its end.
 */
const char *AMVIA_LastError(void);

/**
 * Has `handler` run on messages for `number`, which is not 0, in place of the handler before. The one before does not begin
 * any more; it may still run on another thread. `context` is given to the handler, and has to hold until the endpoint is
 * freed.
 */
AM_Error AM_SetHandler(AM_Endpoint endpoint,
                       uint16_t number,
                       AM_Handler handler,
                       void *context);

/**
 * Replies with `length` bytes when the handler has returned. A second reply takes the place of the first; without one an
 * empty reply goes out. `handler` is the one that runs at the initiator on the reply; 0 is none. In the handler of a reply it
 * does nothing.
 */
AM_Error AM_Reply(AM_Token token,
                  uint16_t handler,
                  const void *data,
                  size_t length);

/**
 * Releases the transaction when the handler of its reply has returned: AMVIA_Release() from inside. In the handler of a
 * request it does nothing.
 */
AM_Error AMVIA_ReleaseReply(AM_Token token);

/**
 * The sender of the message (the hash of the endpoint's name), and the transaction that it belongs to.
 */
AM_Error AMVIA_Identify(AM_Token token,
                        uint64_t *from,
                        AM_TransactionId *transaction);

/**
 * Gives the log at `log` another name beside it, so that an endpoint can begin a new one: `log` with ".aside-1" behind it, or
 * with the first number that is free. No endpoint may have it open. What became of the transactions in it is then unknown to
 * its endpoint for good. The new name goes to `room` bytes at `name`, the zero byte at the end among them: 18 bytes more than
 * `log` has are asked for. With a null pointer and 0 it goes nowhere.
 */
AM_Error AMVIA_SetAside(const char *log,
                        char *name,
                        size_t room);

/**
 * Registers an endpoint by its name and address with the name server at "HOST:PORT", and keeps it registered: a thread renews
 * the lease until the endpoint is freed. `key` is the file with the key of the cluster. A `lease` of 0 is one of 30 s.
 * `at_most` is how long the server is waited for, now and when the endpoint is freed. An endpoint that is registered leaves
 * the server before.
 */
AM_Error AMVIA_RegisterEndpoint(AM_Endpoint endpoint,
                                const char *server,
                                const char *key,
                                uint64_t lease,
                                uint64_t at_most);

/**
 * Says whether an endpoint is kept registered: fails as the last renewal has failed, which is told once.
 */
AM_Error AMVIA_CheckRegistration(AM_Endpoint endpoint);

/**
 * Asks the name server at "HOST:PORT" where the endpoint called `name` is: `room` bytes at `address`, the zero byte at the
 * end among them.
 */
AM_Error AMVIA_LookUp(const char *server,
                      const char *key,
                      const char *name,
                      uint64_t at_most,
                      char *address,
                      size_t room);

/**
 * Fills options with what an endpoint has where nothing else is said: AM_InitOptions(&options, sizeof options).
 */
AM_Error AM_InitOptions(AM_Options *options,
                        size_t size);

/**
 * Makes a request of a peer: `handler` is to run there on `length` bytes, which are copied. Where there is no credit it polls
 * until there is, at most so long: 0 refuses at once.
 */
AM_Error AM_Request(AM_Endpoint endpoint,
                    AM_Peer peer,
                    uint16_t handler,
                    const void *data,
                    size_t length,
                    uint64_t at_most,
                    AM_Transaction *transaction);

/**
 * Makes a request like AM_Request(), whose bytes are not copied: `fill` writes them where they stay, once there is credit and
 * before this returns. It is given `context`.
 */
AM_Error AMVIA_RequestInPlace(AM_Endpoint endpoint,
                              AM_Peer peer,
                              uint16_t handler,
                              size_t length,
                              AM_Fill fill,
                              void *context,
                              uint64_t at_most,
                              AM_Transaction *transaction);

/**
 * The state of a transaction.
 */
AM_Error AMVIA_Status(AM_Endpoint endpoint, AM_Transaction transaction, AM_Status *status);

/**
 * Polls until a transaction is final, or unknown and no question for it on its way, at most so long, and gives what is known of
 * it then.
 */
AM_Error AMVIA_Finish(AM_Endpoint endpoint,
                      AM_Transaction transaction,
                      uint64_t at_most,
                      AM_Status *status);

/**
 * Reads the reply of a transaction into `room` bytes at `data`; `length` says how long it is: 0 while there is none.
 */
AM_Error AMVIA_ReadReply(AM_Endpoint endpoint,
                         AM_Transaction transaction,
                         void *data,
                         size_t room,
                         size_t *length);

/**
 * Asks the target what became of a transaction that is unknown. The answer comes with later polls: not run, run once with its
 * reply, indeterminate for good, or unknown as before where the target still does not answer.
 */
AM_Error AMVIA_Ask(AM_Endpoint endpoint,
                   AM_Transaction transaction);

/**
 * Releases a transaction: the program needs it no more. Its credit comes back, and its target may forget it.
 */
AM_Error AMVIA_Release(AM_Endpoint endpoint,
                       AM_Transaction transaction);

/**
 * The transactions that are not released, those of earlier lives that the log held among them: as many as there is room for,
 * and in `count` how many there are.
 */
AM_Error AMVIA_Transactions(AM_Endpoint endpoint,
                            AM_Transaction *transactions,
                            size_t room,
                            size_t *count);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* AMVIA_H */
