/*
 * Watches a feed from a poll(2) loop, and prints matches and warnings.
 *
 *   watch FEED KEY SERVICE DIRECTORY NAME [later] < SECRET
 *
 * State is kept in DIRECTORY. Standard input, unless it is empty, is added as a secret called NAME.
 * SIGUSR1 stands for a platform's push, SIGTERM ends. With "later" no match is acknowledged.
 *
 * cc watch.c -o watch $(pkg-config --cflags --libs reveille)
 */
#define _GNU_SOURCE 1
#include <poll.h>
#include <reveille.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct app {
    int later;     /* acknowledge nothing */
    int has_ended; /* nothing comes any more */
};

static int on_match(void *context, const reveille_match *match) {
    const struct app *app = context;
    printf(
        "%s: %s %s %.*s\n", app->later ? "left for later" : "this concerns you", match->secret,
        match->id, (int)match->note_size, (const char *)match->note);
    return app->later ? REVEILLE_LATER : REVEILLE_DELIVERED;
}

static void on_warning(void *context, const reveille_warning *warning) {
    (void)context;
    printf("warning: %s\n", warning->name);
}

static void on_status(void *context, const reveille_status *status) {
    (void)context;
    printf(
        "status: %s, %llu batches checked, %llu matches waiting\n",
        status->stream == REVEILLE_STREAM_CONNECTED ? "connected" : "not connected",
        (unsigned long long)status->sequence, (unsigned long long)status->matches_waiting);
}

static void on_end(void *context, int error) {
    struct app *app = context;
    printf("ended: %s\n", reveille_error_text(error));
    app->has_ended = 1;
}

/* Prints what failed. */
static int failed(const char *what, int error) {
    if (error != REVEILLE_OK) fprintf(stderr, "%s: %s\n", what, reveille_error_text(error));
    return error != REVEILLE_OK;
}

static int add_secret(reveille_client *client, const char *name) {
    unsigned char secret[1024];
    size_t size = fread(secret, 1, sizeof secret, stdin);
    int error = size == 0 ? REVEILLE_OK : reveille_add_secret(client, name, secret, size);
    memset(secret, 0, sizeof secret);
    return failed("secret", error);
}

/* Runs until SIGTERM. */
static int watch(reveille_client *client, const struct app *app) {
    struct pollfd events[2] = {{.events = POLLIN}, {.events = POLLIN}};
    struct signalfd_siginfo signal;
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    events[0].fd = signalfd(-1, &signals, SFD_CLOEXEC);
    if (failed("start", reveille_start_polled(client, &events[1].fd))) return 1;
    puts("running");
    while (!app->has_ended) {
        if (poll(events, 2, -1) < 0) continue;
        if (events[1].revents) reveille_dispatch(client);
        if (!events[0].revents) continue;
        if (read(events[0].fd, &signal, sizeof signal) != sizeof signal) continue;
        if (signal.ssi_signo == SIGTERM) break;
        reveille_wake(client, REVEILLE_PUSH);
    }
    close(events[0].fd);
    return app->has_ended;
}

int main(int count, char **words) {
    struct app app = {0, 0};
    reveille_callbacks callbacks = {
        .size = sizeof callbacks, .context = &app, .match = on_match, .warning = on_warning,
        .status = on_status, .ended = on_end,
    };
    reveille_configuration configuration = {
        .size = sizeof configuration, .channel = REVEILLE_STREAM,
    };
    reveille_client *client;
    int status;

    if (count < 6) {
        fputs("usage: watch FEED KEY SERVICE DIRECTORY NAME [later]\n", stderr);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    configuration.feed = words[1];
    configuration.feed_key = words[2];
    configuration.service = words[3];
    configuration.state_directory = words[4];
    app.later = count > 6 && strcmp(words[6], "later") == 0;
    if (failed("open", reveille_open(&configuration, &callbacks, &client))) return 1;
    status = add_secret(client, words[5]) || watch(client, &app);
    return failed("close", reveille_close(client)) || status;
}
