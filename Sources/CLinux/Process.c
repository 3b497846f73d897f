#include "Process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

// As text: hexadecimal digits are one preprocessing token, whatever they begin with (C17 6.4).
#define TEXT(token) #token
#define TEXT_OF(macro) TEXT(macro)
#ifdef REVEILLE_COMMIT
static const char commit[] = TEXT_OF(REVEILLE_COMMIT);
#else
static const char commit[] = "";
#endif

uint8_t linux_build_commit_digit(int index) {
    return index >= 0 && (size_t)index < sizeof commit ? (uint8_t)commit[index] : 0;
}

bool linux_build_is_changed(void) {
#ifdef REVEILLE_CHANGED
    return true;
#else
    return false;
#endif
}

void linux_begin_program(void) {
    // A stream that is closed would become the first file that is opened, and be written to.
    for (int stream = 0; stream <= 2; stream++) {
        if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
        // The wrong way round: what is read or written there fails, as on a closed one.
        const int other = open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
        if (other > 2) close(other);
    }
    // Beyond the limit of a file's size a write fails and does not end the process (setrlimit(2)).
    signal(SIGXFSZ, SIG_IGN);
}

void linux_keep_memory_private(void) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    // Swift has put handlers here before main when SWIFT_BACKTRACE says so.
    const int crashes[] = {SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV, SIGQUIT};
    for (size_t index = 0; index < sizeof crashes / sizeof *crashes; index++)
        signal(crashes[index], SIG_DFL);
    // libdispatch writes pointers to standard error when setpriority(2) is refused, as it always is
    // for the thread that waits for its timers.
    setenv("LIBDISPATCH_LOG", "NO", 1);
}

int linux_terminal_columns(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static int termination = -1;
static volatile sig_atomic_t first_termination = 0;
static int hangup = -1;

// write(2) is async-signal-safe (signal-safety(7)).
static void signal_received(int number) {
    const int error = errno;
    const uint64_t one = 1;
    if (number != SIGHUP || hangup < 0)
        if (first_termination == 0) first_termination = number;
    const int receiver = number == SIGHUP && hangup >= 0 ? hangup : termination;
    const ssize_t written = write(receiver, &one, sizeof one);
    (void)written;
    errno = error;
}

int linux_catch_termination(void) {
    termination = eventfd(0, EFD_CLOEXEC);
    if (termination < 0) return -errno;
    struct sigaction signalled = {.sa_handler = signal_received, .sa_flags = SA_RESTART};
    sigemptyset(&signalled.sa_mask);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    const bool is_set = sigaction(SIGTERM, &signalled, NULL) == 0
        && sigaction(SIGINT, &signalled, NULL) == 0 && sigaction(SIGHUP, &signalled, NULL) == 0
        && sigaction(SIGPIPE, &ignore, NULL) == 0;
    return is_set ? 0 : -errno;
}

int linux_catch_hangup(void) {
    hangup = eventfd(0, EFD_CLOEXEC);
    if (hangup < 0) return -errno;
    struct sigaction signalled = {.sa_handler = signal_received, .sa_flags = SA_RESTART};
    sigemptyset(&signalled.sa_mask);
    return sigaction(SIGHUP, &signalled, NULL) == 0 ? 0 : -errno;
}

void linux_wait_for_hangup(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
    uint64_t count;
    while (read(hangup, &count, sizeof count) < 0 && errno == EINTR) {}
}

int linux_wait_for_termination(void) {
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGHUP);
    pthread_sigmask(SIG_UNBLOCK, &ends, NULL);
    uint64_t count;
    while (read(termination, &count, sizeof count) < 0 && errno == EINTR) {}
    return first_termination;
}

// libdispatch watches the threads of its shared queues by a timer that fires each second, for as
// long as the process lives, once something ran there (swift-corelibs-libdispatch,
// src/event/workqueue.c). It does not watch the queues next to them that may have more threads than
// there are processors. Swift's runtime lets a function take its tasks to other queues
// (swift/Runtime/ConcurrencyHooks.def).
#define SWIFT __attribute__((swiftcall))

typedef struct executor {
    void *identity;
    uintptr_t implementation;
} executor;

extern SWIFT void swift_job_run(void *job, executor executor);
extern SWIFT void (*swift_task_enqueueGlobal_hook)(void *job, void *original);

// dispatch/queue.h
extern void *dispatch_get_global_queue(intptr_t priority, uintptr_t flags);
extern void dispatch_async_f(void *queue, void *context, void (*work)(void *));

enum { DISPATCH_QUEUE_OVERCOMMIT = 2 };

static void run(void *job) { swift_job_run(job, (executor){0}); }

static SWIFT void enqueue(void *job, void *original) {
    (void)original;
    dispatch_async_f(dispatch_get_global_queue(0, DISPATCH_QUEUE_OVERCOMMIT), job, run);
}

void linux_rest_quietly(void) { swift_task_enqueueGlobal_hook = enqueue; }
