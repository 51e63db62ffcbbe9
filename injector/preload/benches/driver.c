/* Measures, from the program's side, what a hook costs and how long a delay becomes. Does what
   each line on stdin says and answers with a line. Run under the library, with the null device.

     cost CALL            ns a call directly, and what is added by the hook and by a function that only jumps on, in a
                          loop of nothing but the call; what both add in a program with code of its own between two calls;
                          and how many additions the processor makes at once meanwhile
     delay ASKED N [..]   p1 p50 p99 p99.9 of the error of N delays, ns; by "hook", or by
                          "sleep", or "tight" sleep with a timer slack of 1 ns
     gaps ASKED MS        how the processor is taken away, looked at for MS ms: the share of time that
                          is lost, and of waits of ASKED ns that would end late for it, per cent
     spins                ns a round of the hook's counting loop, whose table has 100,000 rounds */
#include <dlfcn.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct ibv_context *null_context(void);
typedef ssize_t send_function(int, const void *, size_t, int);
typedef ssize_t write_function(int, const void *, size_t);
typedef int mpi_function(const void *, int, void *, int, int, void *);
extern send_function jump_send, *jump_target_send;
extern write_function jump_write, *jump_target_write;
extern mpi_function MPI_Send, PMPI_Send, jump_mpi;
int jump_post(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);

/* The ways to a function, */
enum { HOOKED, DIRECT, JUMP, WAYS };

/* and what lies at the end of each. */
static struct target {
    struct ibv_qp pair;
    send_function *send;
    write_function *write;
    mpi_function *message;
} targets[WAYS];

static double ns_per_tick = 1;
static int udp, null_file;

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static inline uint64_t ticks(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    return (uint64_t)now_ns();
#endif
}

static void calibrate(void)
{
    double from = now_ns(), to;
    uint64_t first = ticks(), last;
    do {
        to = now_ns();
        last = ticks();
    } while (to - from < 2e8);
    ns_per_tick = (to - from) / (double)(last - first);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *sorted, int n, double p) { return sorted[(int)(p * (n - 1))]; }

/* What is timed. */
#define INLINE static inline __attribute__((always_inline))
INLINE void post(struct target *way)
{
    struct ibv_send_wr wr, *bad;
    ibv_post_send(&way->pair, &wr, &bad);
}

INLINE void message(struct target *way) { way->message("", 1, NULL, 1, 0, NULL); }

/* Sends that the kernel refuses at once, so that there is little in them but the call. */
INLINE void refused(struct target *way) { way->send(udp, "", 1, MSG_OOB); }
INLINE void refused_write(struct target *way) { way->write(udp, "", 1); }
INLINE void nothing(struct target *way) { way->write(null_file, "", 1); }

/* Eight additions that wait for each other, over eight that do not. Half as much where another hardware thread of
   the core is at work, be it another virtual machine's, of which nothing else can be seen from here. */
static double additions_at_once(void)
{
    enum { ROUNDS = 500 };
    uint64_t x[8] = { 0 }, start = ticks(), between;
#define ADD(n) x[n]++; __asm__ volatile("" : "+r"(x[n]));
    for (int i = 0; i < ROUNDS; i++) {
        ADD(0) ADD(0) ADD(0) ADD(0) ADD(0) ADD(0) ADD(0) ADD(0)
    }
    between = ticks();
    for (int i = 0; i < ROUNDS; i++) {
        ADD(0) ADD(1) ADD(2) ADD(3) ADD(4) ADD(5) ADD(6) ADD(7)
    }
    return (double)(between - start) / (ticks() - between);
}

/* After a system call, what a few instructions more take depends on what else lies on the way, by up to 3 ns. So all ways are gone from
   the same places: from a loop of nothing but the call, and from behind so many cache lines of the program's own code, which are
   instructions of four bytes in four chains. */
#define PLACES(PLACE, call)                                                                                            \
    PLACE(call, 0) PLACE(call, 4) PLACE(call, 5) PLACE(call, 6) PLACE(call, 7) PLACE(call, 8) PLACE(call, 9)            \
    PLACE(call, 10) PLACE(call, 11) PLACE(call, 12)
#define REPEAT(lines, four) ".rept 4 * " #lines "\n" four ".endr"
#ifdef __aarch64__
#define OWN(lines)                                                                                                     \
    __asm__ volatile(REPEAT(lines, "add x9, x9, #1\n add x10, x10, #1\n add x11, x11, #1\n add x12, x12, #1\n")        \
                     : : : "x9", "x10", "x11", "x12")
#else
#define OWN(lines)                                                                                                     \
    __asm__ volatile(REPEAT(lines, "add $1, %%rcx\n add $1, %%rdx\n add $1, %%rsi\n add $1, %%rdi\n")                  \
                     : : : "rcx", "rdx", "rsi", "rdi", "cc")
#endif
#define LOOP(call, lines)                                                                                              \
    static __attribute__((noinline)) void call##_##lines(struct target *way, int calls)                                \
    {                                                                                                                  \
        for (int i = 0; i < calls; i++) {                                                                              \
            OWN(lines);                                                                                                \
            call(way);                                                                                                 \
        }                                                                                                              \
    }
#define NAME(call, lines) call##_##lines,
#define ONE(call, lines) +1
#define LOOPS(call)                                                                                                    \
    PLACES(LOOP, call)                                                                                                 \
    static loop_function *const call##_loops[ALL_PLACES] = { PLACES(NAME, call) };

typedef void loop_function(struct target *, int);
enum { ALL_PLACES = PLACES(ONE, ), BATCHES = 101, CALLS = 300 };
LOOPS(post)
LOOPS(message)
LOOPS(refused)
LOOPS(refused_write)
LOOPS(nothing)

static double median(double *values, int n)
{
    qsort(values, n, sizeof *values, ascending);
    return values[n / 2];
}

static void cost(loop_function *const *loops)
{
    static double batches[ALL_PLACES][WAYS][BATCHES], at_once[BATCHES], added[WAYS][ALL_PLACES];
    for (int b = 0; b < BATCHES; b++) {
        at_once[b] = additions_at_once();
        for (int place = 0; place < ALL_PLACES; place++) {
            for (int turn = 0; turn < WAYS; turn++) {
                int way = (b + turn) % WAYS;
                uint64_t start = ticks();
                loops[place](&targets[way], CALLS);
                batches[place][way][b] = (ticks() - start) * ns_per_tick / CALLS;
            }
        }
    }
    double direct = 0;
    for (int place = ALL_PLACES - 1; place >= 0; place--) {
        direct = median(batches[place][DIRECT], BATCHES);
        for (int way = 0; way < WAYS; way++)
            added[way][place] = median(batches[place][way], BATCHES) - direct;
    }
    printf("%.3f %.3f %.3f %.3f %.3f %.2f\n", direct, added[HOOKED][0], added[JUMP][0],
           median(added[HOOKED] + 1, ALL_PLACES - 1), median(added[JUMP] + 1, ALL_PLACES - 1), median(at_once, BATCHES));
}

static void delays(double asked, int n, const char *how)
{
    double *errors = calloc(n, sizeof *errors), *empty = calloc(n, sizeof *empty);
    int sleeps = strcmp(how, "hook") != 0;
    prctl(PR_SET_TIMERSLACK, strcmp(how, "tight") == 0 ? 1 : 0);
    for (int i = 0; i < n; i++) {
        uint64_t start = ticks();
        post(&targets[DIRECT]);
        uint64_t between = ticks();
        if (sleeps) {
            struct timespec time = { 0, (long)asked };
            nanosleep(&time, NULL);
        } else {
            post(&targets[HOOKED]);
        }
        uint64_t end = ticks();
        empty[i] = (between - start) * ns_per_tick;
        errors[i] = (end - between) * ns_per_tick - asked;
    }
    qsort(empty, n, sizeof *empty, ascending);
    qsort(errors, n, sizeof *errors, ascending);
    double less = quantile(empty, n, 0.5);
    printf("%.1f %.1f %.1f %.1f\n", quantile(errors, n, 0.01) - less, quantile(errors, n, 0.5) - less,
           quantile(errors, n, 0.99) - less, quantile(errors, n, 0.999) - less);
    free(errors);
    free(empty);
}

/* A gap lies between two readings of the counter by a thread that does nothing else: something else
   ran on its processor, or nothing at all. A wait that begins outside a gap and would end in one
   ends with it. It is more than LATE ns late if its end falls into all but the last LATE ns of
   the gap; into the first ASKED ns of it, or it had begun inside. */
static void gaps(double asked, double ms)
{
    enum { GAP = 100, LATE = 60 };
    uint64_t start = ticks(), last = start, end = start + (uint64_t)(ms * 1e6 / ns_per_tick);
    double lost = 0, late = 0;
    while (last < end) {
        uint64_t now = ticks();
        double gap = (now - last) * ns_per_tick;
        if (gap > GAP) {
            lost += gap;
            late += gap - LATE < asked ? gap - LATE : asked;
        }
        last = now;
    }
    double all = (last - start) * ns_per_tick;
    printf("%.4f %.4f\n", 100 * lost / all, 100 * late / (all - lost));
}

static void spins(void)
{
    enum { N = 101, ROUNDS = 100000 };
    double taken[N];
    for (int i = 0; i < N; i++) {
        uint64_t start = ticks();
        post(&targets[HOOKED]);
        taken[i] = (ticks() - start) * ns_per_tick / ROUNDS;
    }
    qsort(taken, N, sizeof *taken, ascending);
    printf("%.6f\n", taken[N / 2]);
}

int main(void)
{
    char line[100], word[100] = "";
    double asked;
    int n;
    void *libc = dlopen("libc.so.6", RTLD_NOW);

    cpu_set_t last;
    CPU_ZERO(&last);
    CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &last);
    sched_setaffinity(0, sizeof last, &last);
    targets[DIRECT].pair.context = null_context();
    targets[JUMP].pair.context = null_context();
    targets[JUMP].pair.context->ops.post_send = jump_post;
    targets[HOOKED].pair.context = ibv_open_device(NULL);
    jump_target_send = (send_function *)dlsym(libc, "send");
    jump_target_write = (write_function *)dlsym(libc, "write");
    targets[HOOKED].send = send, targets[DIRECT].send = jump_target_send, targets[JUMP].send = jump_send;
    targets[HOOKED].write = write, targets[DIRECT].write = jump_target_write, targets[JUMP].write = jump_write;
    targets[HOOKED].message = MPI_Send, targets[DIRECT].message = PMPI_Send, targets[JUMP].message = jump_mpi;
    udp = socket(AF_INET, SOCK_DGRAM, 0);
    null_file = open("/dev/null", O_WRONLY);
    calibrate();
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "cost post_send\n") == 0)
            cost(post_loops);
        else if (strcmp(line, "cost MPI_Send\n") == 0)
            cost(message_loops);
        else if (strcmp(line, "cost send\n") == 0)
            cost(refused_loops);
        else if (strcmp(line, "cost write\n") == 0)
            cost(refused_write_loops);
        else if (strcmp(line, "cost write_file\n") == 0)
            cost(nothing_loops);
        else if (sscanf(line, "delay %lf %d %s", &asked, &n, word) == 3)
            delays(asked, n, word);
        else if (sscanf(line, "gaps %lf %d", &asked, &n) == 2)
            gaps(asked, n);
        else if (strcmp(line, "spins\n") == 0)
            spins();
        else
            return 2;
    }
    return 0;
}
