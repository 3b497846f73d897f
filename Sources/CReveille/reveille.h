/*
 * libreveille: a client of Reveille, the anonymous wake-up service, for programs in C and in every
 * language that can call C. A client listens for wake-ups, fetches the feed that everybody fetches,
 * compares it with secrets that stay on this device, and calls back for each match.
 *
 * Two ways to run it:
 *   reveille_start          callbacks come from a thread of the library.
 *   reveille_start_polled   a descriptor becomes readable; reveille_dispatch then calls back, on
 *                           the thread that calls it. For poll(2), GLib, Qt, asyncio and the like.
 * A program that is started for each check calls reveille_synchronize and needs neither.
 *
 * Errors. Functions return REVEILLE_OK (0) or a value of enum reveille_error, and change nothing
 * that the caller sees unless they succeed. NULL is refused with REVEILLE_ERROR_ARGUMENT wherever
 * it is not said to be allowed. Text is UTF-8 and ends with a zero byte.
 *
 * Ownership. What is passed to a function is copied, and may be freed when the function returns.
 * What is passed to a callback belongs to the library and ends when the callback returns. A client
 * is ended by reveille_close; text that a function returns through a char ** is freed by
 * reveille_free; everything else is never freed by the caller.
 *
 * Threads. Every function may be called from any thread, several at a time. Callbacks are called
 * one at a time, and block no fetch however long they take. A callback may call every function but
 * reveille_close, reveille_dispatch, reveille_synchronize, reveille_reconcile, reveille_start_over
 * and reveille_erase, which return REVEILLE_ERROR_IN_CALLBACK there. Once reveille_close has
 * returned REVEILLE_OK no callback runs and none will. The library's threads block the signals that
 * processes and timers send: those are the program's.
 *
 * Processes. All state is in the state directory: a process may be killed at any moment. A second
 * client of the same directory is refused with REVEILLE_ERROR_LOCKED. After fork(2) the child may
 * only call exec(3): threads do not survive. The library cannot be unloaded (dlclose does nothing).
 *
 * Growth. Structures begin with their size, which the caller sets. Later versions add members at
 * the end and values to enumerations, and serve programs of an earlier header. A size that the
 * library does not know is refused with REVEILLE_ERROR_SIZE.
 */
#ifndef REVEILLE_H
#define REVEILLE_H

#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/* A client: a number, no address. Of none, or none any more: REVEILLE_ERROR_CLOSED. */
typedef struct reveille_client reveille_client;

/* ---- Errors ---------------------------------------------------------------------------------- */

enum reveille_error {
    REVEILLE_OK = 0,

    /* Use of this interface. */
    REVEILLE_ERROR_ARGUMENT = 1,      /* NULL, not UTF-8, or a value that is none of its list */
    REVEILLE_ERROR_SIZE = 2,          /* the size of a structure is not one that is known */
    REVEILLE_ERROR_CLOSED = 3,        /* not a client, or not any more */
    REVEILLE_ERROR_IN_CALLBACK = 4,   /* may not be called from a callback */
    REVEILLE_ERROR_STARTED = 5,       /* started before */
    REVEILLE_ERROR_NOT_POLLED = 6,    /* reveille_dispatch without reveille_start_polled */
    REVEILLE_ERROR_SYSTEM = 7,        /* no thread, descriptor or memory left */
    REVEILLE_ERROR_CANCELLED = 8,     /* reveille_close ended the call */
    REVEILLE_ERROR_UNKNOWN_MATCH = 9, /* no match has this id, or none any more */

    /* The network and what it brought. The client tries again by itself. */
    REVEILLE_ERROR_NETWORK = 20,       /* no name, no connection, a reset, a timeout */
    REVEILLE_ERROR_TLS = 21,           /* certificate, host name, handshake */
    REVEILLE_ERROR_HTTP_STATUS = 22,   /* the server answered something else */
    REVEILLE_ERROR_TRUNCATED = 23,     /* the answer ended early */
    REVEILLE_ERROR_TOO_LARGE = 24,     /* the answer is longer than its limit */
    REVEILLE_ERROR_BAD_SIGNATURE = 25, /* tampering, a wrong key, a captive portal */
    REVEILLE_ERROR_WRONG_FEED = 26,    /* signed by the right key for another feed */
    REVEILLE_ERROR_ROLLBACK = 27,      /* older than a head that was seen before */
    REVEILLE_ERROR_FORK = 28,          /* two histories; see reveille_start_over */
    REVEILLE_ERROR_CORRUPT_BATCH = 29, /* a batch is not what its signed header says */
    REVEILLE_ERROR_PROTOCOL = 30,      /* the answer does not follow the protocol */
    REVEILLE_ERROR_UNWITNESSED = 31,   /* no proof, by the policy, that all clients see it */
    REVEILLE_ERROR_MISSING_BATCH = 32, /* the server lacks a batch that its head names */

    /* The state. */
    REVEILLE_ERROR_LOCKED = 40,         /* another client works with this state directory */
    REVEILLE_ERROR_STATE_VERSION = 41,  /* written by another version of the library */
    REVEILLE_ERROR_STATE_EXPOSED = 42,  /* others can reach it, or it is a symbolic link */
    REVEILLE_ERROR_STATE_UNUSABLE = 43, /* it cannot be read or written */
    REVEILLE_ERROR_DISK_FULL = 44,      /* no room; nothing is lost */
    REVEILLE_ERROR_STATE_FOREIGN = 45,  /* it belongs to another user */
    REVEILLE_ERROR_STATE_DAMAGED = 46,  /* no database any more; the next start begins again */

    /* The configuration. */
    REVEILLE_ERROR_FEED_URL = 60,          /* not https (http: loopback, onion services) */
    REVEILLE_ERROR_SERVICE_URL = 61,       /* the same */
    REVEILLE_ERROR_FEED_KEY = 62,          /* not 43 characters of base64url, or no key */
    REVEILLE_ERROR_SERVICE_MISSING = 63,   /* the stream and registrations need a service */
    REVEILLE_ERROR_OTHER_FEED = 64,        /* the state is of another feed */
    REVEILLE_ERROR_PROXY = 65,             /* host or port; or an onion service without it */
    REVEILLE_ERROR_DAILY_BYTE_BUDGET = 66, /* fewer than 262144 bytes a day */
    REVEILLE_ERROR_LIBRARY_MISSING = 67,   /* libcurl 4 is not installed */
    REVEILLE_ERROR_WITNESSES = 68,         /* no policy of witnesses, or one that none can meet */
    REVEILLE_ERROR_OBLIVIOUS_URL = 69,     /* the relay's: as the others; or without a service */

    /* Registrations. */
    REVEILLE_ERROR_NOT_REGISTERED = 80,   /* nothing was ever registered, or it is all erased */
    REVEILLE_ERROR_NOT_SERVED = 81,       /* the service cannot wake this push token */
    REVEILLE_ERROR_STILL_REGISTERED = 82, /* unregister before erasing */
    REVEILLE_ERROR_TOKEN_TOO_LONG = 83,   /* longer than the service stores */
    REVEILLE_ERROR_TOKEN_MALFORMED = 84,  /* not as the push service issues it */
    REVEILLE_ERROR_BUS = 85,              /* no session bus, or it does not answer */
    REVEILLE_ERROR_BUS_NAME = 86,         /* no name on a bus, or not a distributor's */
    REVEILLE_ERROR_VAPID_KEY = 87,        /* not 87 characters of base64url, or no key */
    REVEILLE_ERROR_GATEWAY_KEY = 88,      /* feed and gateway do not agree on a key for relays */
    REVEILLE_ERROR_RELAY = 89,            /* the relay answered, and not the service behind it */

    /* Secrets. */
    REVEILLE_ERROR_SECRETS = 100,        /* cannot be read or written, or others can */
    REVEILLE_ERROR_SECRET_NAME = 101,    /* not 1 to 64 of a-z A-Z 0-9 . - _ */
    REVEILLE_ERROR_SECRET_SIZE = 102,    /* not 16 to 1024 bytes */
    REVEILLE_ERROR_SECRET_EXISTS = 103,  /* another one has this name */
    REVEILLE_ERROR_SECRET_SAME = 104,    /* the same bytes have another name */
    REVEILLE_ERROR_SECRET_MISSING = 105  /* none has this name */
};

/* An English sentence without a full stop, for logs, whatever the number. Not to be freed. */
const char *reveille_error_text(int error);

/* ---- Callbacks ------------------------------------------------------------------------------- */

/* One published item that belongs to one of the secrets. */
typedef struct reveille_match {
    size_t size;
    const char *id;     /* 32 hexadecimal digits, the same for every delivery of this match */
    const char *secret; /* the name of the secret */
    const void *note;   /* the publisher's note: any bytes, then a zero; NULL without a note */
    size_t note_size;   /* without that zero */
    uint64_t sequence;  /* the batch of the feed that had it */
} reveille_match;

enum reveille_delivery {
    REVEILLE_LATER = 0,    /* not acknowledged yet */
    REVEILLE_DELIVERED = 1 /* acknowledged: the user was told */
};

enum reveille_warning_code {
    REVEILLE_WARNING_SILENCE = 1,              /* number: days without a verified head */
    REVEILLE_WARNING_NOT_CHECKED = 2,          /* batches first..last not checked since `since` */
    REVEILLE_WARNING_SECRETS_UNREADABLE = 3,   /* nothing is checked until they can be read */
    REVEILLE_WARNING_UNUSABLE_SECRETS = 4,     /* number: secrets of a wrong length */
    REVEILLE_WARNING_LOST_BATCHES = 5,         /* first..last cannot be checked for a new secret */
    REVEILLE_WARNING_FORK = 6,                 /* two histories at batch `first` */
    REVEILLE_WARNING_GAP = 7,                  /* first..last were dropped and never checked */
    REVEILLE_WARNING_STALE = 8,                /* the head has expired */
    REVEILLE_WARNING_CLOCK_SKEW = 9,           /* number: seconds that this clock is behind */
    REVEILLE_WARNING_BAD_FEED = 10,            /* for a day no head with a valid signature */
    REVEILLE_WARNING_ROLLBACK = 11,            /* for a day only heads older than one before */
    REVEILLE_WARNING_STATE_RESET = 12,         /* damaged and put aside; matches may come again */
    REVEILLE_WARNING_DISK_FULL = 13,           /* no room for the state */
    REVEILLE_WARNING_CACHE_FULL = 14,          /* no room for batches */
    REVEILLE_WARNING_RETIRED = 15,             /* nothing will ever be published again */
    REVEILLE_WARNING_REGISTRATION_REFUSED = 16, /* number: the service's HTTP status */
    REVEILLE_WARNING_DISTRIBUTOR_FAILS = 17,    /* number: why, as `text` says it */
    REVEILLE_WARNING_NO_QUORUM = 18,            /* too few witnesses cosigned the newest head */
    REVEILLE_WARNING_OTHER_HISTORY = 19,        /* the feed's log is not the one of before */
    REVEILLE_WARNING_STALE_COSIGNATURE = 20     /* cosignatures older than a head's life */
};

/* An occasion that the user should know of, though the client goes on. Once for each occasion. */
typedef struct reveille_warning {
    size_t size;
    int code;            /* of enum reveille_warning_code, or a later one */
    const char *name;    /* such as "clock-skew": stable, for logs */
    int64_t number;      /* as the code says, otherwise 0 */
    uint64_t first, last; /* batches, as the code says, otherwise 0 */
    int64_t since;       /* seconds since 1970, as the code says, otherwise 0 */
    const char *text;    /* an English sentence for the user */
} reveille_warning;

enum reveille_registration {
    REVEILLE_REGISTRATION_NONE = 0,
    REVEILLE_REGISTERED = 1,
    REVEILLE_REGISTERING = 2,   /* the client keeps trying */
    REVEILLE_PROVING = 3,       /* computes the proof of work that the service wants */
    REVEILLE_UNREGISTERING = 4, /* the client keeps trying, across restarts */
    REVEILLE_SUSPENDED = 5      /* the publisher has switched registrations off for now */
};

enum reveille_stream {
    REVEILLE_STREAM_UNUSED = 0, /* only polls, or does not run */
    REVEILLE_STREAM_CONNECTING = 1,
    REVEILLE_STREAM_CONNECTED = 2,
    REVEILLE_STREAM_WAITING = 3, /* to be opened again */
    REVEILLE_STREAM_REFUSED = 4, /* see stream_http_status */
    REVEILLE_STREAM_SILENT = 5   /* a proxy on the way keeps back what should pass */
};

/* What the client knows about itself. Times are in seconds since 1970, 0 for none or not known. */
typedef struct reveille_status {
    size_t size;
    int running;               /* 1 while it is started and has not ended */
    int check_failure;         /* error of the last check; REVEILLE_OK */
    int registration;          /* of enum reveille_registration */
    int registration_failure;  /* error of the last attempt; REVEILLE_OK */
    int stream;                /* of enum reveille_stream */
    int stream_http_status;    /* of a stream that was refused, otherwise 0 */
    int retired;               /* 1: nothing will ever be published again */
    int forked;                /* 1: two histories were seen, nothing newer is checked */
    int shares_origin;         /* 1: one operator sees who registers and who fetches */
    int former_services;       /* earlier services that may still hold a registration */
    uint64_t sequence;         /* the newest batch that was checked */
    uint64_t first_unchecked;  /* of the batches that are there and were not checked; 0 */
    uint64_t last_unchecked;
    uint64_t matches_waiting;  /* for their delivery */
    uint64_t batches_waiting;  /* for another day's byte budget */
    int64_t waiting_until;
    int64_t last_verified;     /* a head's signature */
    int64_t last_checked;      /* everything that a head named */
    int64_t paused_until;      /* wakes are ignored, as the publisher asks */
    int64_t running_since;
    int64_t next_check;        /* unless a wake comes before */
} reveille_status;

/* The app's side. `context` is passed to each callback as it is. */
typedef struct reveille_callbacks {
    size_t size;
    void *context;
    /* A match. REVEILLE_DELIVERED acknowledges it: it will not come again. With REVEILLE_LATER (0,
     * or any other value) it comes again in one minute to six hours, and when a client is started
     * again, unless reveille_acknowledge is called before. Delivered at least once: a process that
     * is killed in a callback gets the match again, with the same id. Required. */
    int (*match)(void *context, const reveille_match *match);
    /* A warning. NULL for none: it is then lost. */
    void (*warning)(void *context, const reveille_warning *warning);
    /* The status of a started client has changed. Only the newest one is kept for a slow callback.
     * May be NULL. */
    void (*status)(void *context, const reveille_status *status);
    /* A started client has ended by itself, at most once: REVEILLE_OK when the feed is retired and
     * nothing is left to unregister, otherwise an error of the state. Close it. May be NULL. */
    void (*ended)(void *context, int error);
} reveille_callbacks;

/* ---- Opening, running, closing --------------------------------------------------------------- */

enum reveille_channel {
    REVEILLE_POLL = 0,  /* polls alone, about every four hours */
    REVEILLE_STREAM = 1 /* the service's anonymous event stream as well; needs a service */
};

typedef struct reveille_configuration {
    size_t size;
    const char *feed;            /* the URL of the directory with the feed's head */
    const char *feed_key;        /* one of its public keys: 43 characters of base64url */
    const char *service;         /* the service's URL; NULL when there is only a feed */
    int channel;                 /* of enum reveille_channel */
    const char *state_directory; /* for this client alone; made with mode 0700 */
    const char *cache_directory; /* for fetched batches, may be lost; NULL: "cache" below state */
    const char *proxy_host;      /* SOCKS5, such as Tor's: then the only way out; NULL for none */
    uint16_t proxy_port;
    uint64_t daily_byte_budget;  /* heads and batches a day (UTC), 262144 or more; 0: no limit */
    int64_t cache_capacity;      /* bytes kept for later secrets; 0: 64 MiB; negative: none */
    const char *witnesses;       /* a policy's text (C2SP tlog-policy): no head is believed without
                                    its quorum. NULL: the feed's signature is enough */
    const char *oblivious;       /* a relay of Oblivious HTTP (RFC 9458), by which alone
                                    registrations go, hiding the address; NULL for none */
} reveille_configuration;

/* Opens the state, or makes it. Makes no request, starts nothing and calls nothing back. */
int reveille_open(
    const reveille_configuration *configuration, const reveille_callbacks *callbacks,
    reveille_client **client);

/* Runs the client and calls back on a thread of the library, until it is closed. Once for each
 * client, and not beside reveille_start_polled. */
int reveille_start(reveille_client *client);

/* Runs the client. `*descriptor` is readable while reveille_dispatch has something to call. It is
 * the library's: neither read nor close it, and stop watching it before reveille_close. */
int reveille_start_polled(reveille_client *client, int *descriptor);

/* Calls back for what has happened, on this thread, and returns; never waits for more. When another
 * thread is in it already, returns at once. */
int reveille_dispatch(reveille_client *client);

/* Ends the client: waits for a callback that runs, lets no other begin, ends its requests and gives
 * the state directory free. What was not acknowledged comes again the next time. */
int reveille_close(reveille_client *client);

/* Frees text that a function returned through a char **. NULL is allowed. */
void reveille_free(void *text);

/* ---- Checks ---------------------------------------------------------------------------------- */

enum reveille_reason {
    REVEILLE_MANUAL = 0, /* a person or the app wants to know now: begins at once */
    REVEILLE_PUSH = 1    /* a push came: begins within the feed's spread, at random */
};

enum reveille_result {
    REVEILLE_UP_TO_DATE = 0,
    REVEILLE_CHECKED = 1, /* `batches` were new, with `matches` that were not known before */
    REVEILLE_METERED = 2, /* the same, and `waiting` batches exceed the budget until `until` */
    REVEILLE_BEHIND = 3,  /* an edge of a CDN lags behind; a started client looks again */
    REVEILLE_RETIRED = 4, /* nothing will ever be published again */
    REVEILLE_IGNORED = 5  /* a push while the publisher pauses wakes, or after unregistering */
};

typedef struct reveille_outcome {
    size_t size;
    int result;      /* of enum reveille_result */
    int http_status; /* beside REVEILLE_ERROR_HTTP_STATUS, otherwise 0 */
    uint64_t batches, matches, waiting;
    int64_t until;   /* seconds since 1970 */
} reveille_outcome;

/* Hands over a wake, and returns at once: a started client checks, and delivers what it finds. Kept
 * until it is started. Any number of wakes is one check, or one more when a check runs. */
int reveille_wake(reveille_client *client, int reason);

/* Checks now and waits for the end, which takes minutes on a bad line. Then calls back on this
 * thread for all that waits for delivery; beside reveille_start the library's thread does that. For
 * what was found before a failure too. `outcome` may be NULL; its size is set by the caller. It is
 * filled also for REVEILLE_ERROR_HTTP_STATUS. */
int reveille_synchronize(reveille_client *client, int reason, reveille_outcome *outcome);

/* Acknowledges a match that a callback left for later. */
int reveille_acknowledge(reveille_client *client, const char *id);

/* Fills `status`, whose size is set by the caller. */
int reveille_get_status(reveille_client *client, reveille_status *status);

/* The same as one JSON object, as `reveille-client status --json` prints it; reveille_free. */
int reveille_status_json(reveille_client *client, char **json);

/* ---- Secrets --------------------------------------------------------------------------------- */

/* Adds 16 to 1024 bytes under a name, which begins with a letter or digit and comes with a match.
 * Kept in the state directory until removed. A started client checks at once what the feed retains,
 * without a request; others do with the next check. The same bytes and name again are no error. */
int reveille_add_secret(
    reveille_client *client, const char *name, const void *secret, size_t secret_size);

/* Overwrites and removes it. */
int reveille_remove_secret(reveille_client *client, const char *name);

/* The names, sorted, each followed by a newline; reveille_free. */
int reveille_secret_names(reveille_client *client, char **names);

/* ---- Registration for pushes ----------------------------------------------------------------- */

enum reveille_push_service {
    REVEILLE_APNS = 1,         /* text: hexadecimal */
    REVEILLE_APNS_SANDBOX = 2, /* the same, of development builds */
    REVEILLE_FCM = 3,          /* text: as Google issues it */
    REVEILLE_WEB_PUSH = 4      /* text: the https URL of the endpoint; UnifiedPush too */
};

typedef struct reveille_push_token {
    size_t size;
    int service;        /* of enum reveille_push_service */
    const char *text;
    const char *p256dh; /* the subscription's keys in base64url, of Web Push: both or NULL */
    const char *auth;
} reveille_push_token;

/* Stores what is desired, and returns. A started client brings it about, renews it, and says in its
 * status how far it is; a program that never starts one calls reveille_reconcile. */
int reveille_register(reveille_client *client, const reveille_push_token *token);

/* The same for the wish that the service holds nothing about this device any more. Gives up a
 * distributor of UnifiedPush as well. */
int reveille_unregister(reveille_client *client);

/* Makes the one request that the registration has due, if any, and waits for its end. What the app
 * did not ask for just now, as a renewal, first waits for a random time of up to ten minutes. With
 * a relay the feed's head is fetched before, if none was seen that names the gateway's key. */
int reveille_reconcile(reveille_client *client);

/* The UnifiedPush distributors of this desktop: their names on the session bus, sorted, each
 * followed by a newline; reveille_free. Waits for the bus. */
int reveille_distributors(char **names);

/* Has a distributor wake this client, over D-Bus, until it is closed: what it gives is registered
 * as with reveille_register. `app` is the program's own name on the session bus, in reverse DNS
 * style, one for each client; `vapid_key` the service's public key for Web Push, or NULL. At each
 * start of the program, once for each client; again after reveille_unregister. */
int reveille_use_distributor(
    reveille_client *client, const char *app, const char *distributor, const char *vapid_key);

/* ---- Ways out -------------------------------------------------------------------------------- */

/* After REVEILLE_ERROR_FORK: begins the feed again from its oldest batch. */
int reveille_start_over(reveille_client *client);

/* Erases state, cache and evidence, but no secrets. Refused with REVEILLE_ERROR_LOCKED once the
 * client was started, which would begin everything again: close it, open another, and erase there.
 * Refused with REVEILLE_ERROR_STILL_REGISTERED while the service may hold a registration, unless
 * `force` is not 0. */
int reveille_erase(reveille_client *client, int force);

#ifdef __cplusplus
}
#endif

#endif
