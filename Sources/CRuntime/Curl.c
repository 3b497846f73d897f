#define _GNU_SOURCE
#include "Curl.h"

#include "Loading.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>

// Prototypes as in curl/curl.h and curl/multi.h; CURL and CURLM are opaque, void here.
struct crt_curl_list {  // struct curl_slist
    char *data;
    crt_curl_list *next;
};

typedef struct version_info {  // the head of curl_version_info_data, CURLVERSION_FIRST
    int age;
    const char *version;
    unsigned int version_num;
    const char *host;
    int features;
} version_info;

typedef struct message {  // CURLMsg
    int kind;
    void *easy;
    union {
        void *whatever;
        int result;
    } data;
} message;

typedef struct socket_address {  // struct curl_sockaddr
    int family;
    int type;
    int protocol;
    unsigned int length;
    struct sockaddr address;
} socket_address;

#define CURL_FUNCTIONS(X) \
    X(int, global_init, curl_global_init, (long flags)) \
    X(version_info *, version_info, curl_version_info, (int age)) \
    X(void *, easy_init, curl_easy_init, (void)) \
    X(void, easy_cleanup, curl_easy_cleanup, (void *easy)) \
    X(int, easy_setopt, curl_easy_setopt, (void *easy, int option, ...)) \
    X(int, easy_getinfo, curl_easy_getinfo, (void *easy, int info, ...)) \
    X(int, easy_pause, curl_easy_pause, (void *easy, int directions)) \
    X(crt_curl_list *, slist_append, curl_slist_append, (crt_curl_list *list, const char *line)) \
    X(void, slist_free_all, curl_slist_free_all, (crt_curl_list *list)) \
    X(void *, multi_init, curl_multi_init, (void)) \
    X(int, multi_cleanup, curl_multi_cleanup, (void *multi)) \
    X(int, multi_setopt, curl_multi_setopt, (void *multi, int option, ...)) \
    X(int, multi_add_handle, curl_multi_add_handle, (void *multi, void *easy)) \
    X(int, multi_remove_handle, curl_multi_remove_handle, (void *multi, void *easy)) \
    X(int, multi_perform, curl_multi_perform, (void *multi, int *running)) \
    X(int, multi_poll, curl_multi_poll, \
      (void *multi, void *extra, unsigned int count, int milliseconds, int *ready)) \
    X(int, multi_wakeup, curl_multi_wakeup, (void *multi)) \
    X(int, multi_fdset, curl_multi_fdset, \
      (void *multi, fd_set *read, fd_set *write, fd_set *other, int *last)) \
    X(message *, multi_info_read, curl_multi_info_read, (void *multi, int *left))

struct crt_curl_table {
    CURL_FUNCTIONS(CRT_MEMBER)
};

enum {
    CURL_GLOBAL_ALL = 3, CURLVERSION_FIRST = 0, CURL_VERSION_SSL = 1 << 2,
    CURL_VERSION_ASYNCHDNS = 1 << 7, CURLMSG_DONE = 1, CURLOPT_WRITEDATA = 10001,
    CURLOPT_HEADERDATA = 10029, CURLOPT_OPENSOCKETDATA = 10164, CURLOPT_SOCKOPTFUNCTION = 20148,
    CURLOPT_OPENSOCKETFUNCTION = 20163, CURL_SOCKET_BAD = -1, CURLPAUSE_CONT = 0,
    CURLPAUSE_RECV = 1, CURL_SOCKOPT_OK = 0, CURL_SOCKOPT_ERROR = 1, CURLOPT_WRITEFUNCTION = 20011,
    CURLOPT_HEADERFUNCTION = 20079, CURLINFO_PRIVATE = 0x100000 + 21,
    CURLOPT_PREREQFUNCTION = 20312, CURLOPT_PREREQDATA = 10313, CURL_PREREQFUNC_OK = 0,
    CURL_PREREQFUNC_ABORT = 1,
    CURLINFO_PRETRANSFER_TIME_T = 0x600000 + 53, CURLINFO_SSL_VERIFYRESULT = 0x200000 + 13,
    // curl_multi_wakeup(3) came with 7.68.0.
    OLDEST_VERSION = 0x074400,
};

// MARK: Loading

static crt_registry registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

// Under the registry's lock.
static crt_status fill(const char *name, void *memory) {
    crt_curl_table *table = memory;
    const crt_symbol symbols[] = {CURL_FUNCTIONS(CRT_SYMBOL)};
    const char *named[] = {name, NULL};
    const char *usual[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};
    void *library = crt_library_open(name ? named : usual);
    if (!library) return CRT_NOT_FOUND;
    // curl_multi_wakeup is the newest function looked up: an older library fails there.
    crt_status status = crt_library_resolve(library, symbols, sizeof symbols / sizeof symbols[0]);
    if (status != CRT_LOADED) return status;
    const version_info *info = table->version_info(CURLVERSION_FIRST);
    if (info->version_num < OLDEST_VERSION) return CRT_TOO_OLD;
    // Without an asynchronous resolver, a slow name server would stop every other transfer.
    const int needed = CURL_VERSION_SSL | CURL_VERSION_ASYNCHDNS;
    if ((info->features & needed) != needed) return CRT_UNFIT;
    // curl_global_init(3): not thread-safe before 7.84.0.
    return table->global_init(CURL_GLOBAL_ALL) == CURLE_OK ? CRT_LOADED : CRT_NOT_INITIALISED;
}

crt_status crt_curl_load(const char *name, crt_curl *curl) {
    crt_status status;
    curl->table = crt_registry_table(&registry, name, sizeof *curl->table, fill, &status);
    return status;
}

unsigned crt_curl_version(crt_curl curl) {
    return curl.table->version_info(CURLVERSION_FIRST)->version_num;
}

// MARK: Easy handles

void *crt_curl_easy_init(crt_curl curl) { return curl.table->easy_init(); }
void crt_curl_easy_cleanup(crt_curl curl, void *easy) { curl.table->easy_cleanup(easy); }

#define SETTER(name, type) \
    int crt_curl_easy_set_##name(crt_curl curl, void *easy, crt_curl_option option, type value) { \
        return curl.table->easy_setopt(easy, (int)option, value); \
    }
SETTER(long, long)
SETTER(offset, int64_t)
SETTER(text, const char *)
SETTER(pointer, void *)
SETTER(list, crt_curl_list *)

int crt_curl_easy_set_head_receiver(
    crt_curl curl, void *easy, crt_curl_receiver receiver, void *context) {
    int code = curl.table->easy_setopt(easy, CURLOPT_HEADERFUNCTION, receiver);
    return code ? code : curl.table->easy_setopt(easy, CURLOPT_HEADERDATA, context);
}

int crt_curl_easy_set_body_receiver(
    crt_curl curl, void *easy, crt_curl_receiver receiver, void *context) {
    int code = curl.table->easy_setopt(easy, CURLOPT_WRITEFUNCTION, receiver);
    return code ? code : curl.table->easy_setopt(easy, CURLOPT_WRITEDATA, context);
}

// CURLOPT_SOCKOPTFUNCTION(3): called between socket(2) and connect(2).
static int keep_from_children(void *context, int socket, int purpose) {
    (void)context;
    (void)purpose;
    return fcntl(socket, F_SETFD, FD_CLOEXEC) == 0 ? CURL_SOCKOPT_OK : CURL_SOCKOPT_ERROR;
}

int crt_curl_easy_keep_sockets_from_children(crt_curl curl, void *easy) {
    return curl.table->easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, keep_from_children);
}

static bool is_allowed(const crt_curl_address *allowed, const socket_address *wanted) {
    // The address is of the size of its family, whatever its member's type says.
    if (wanted->family != wanted->address.sa_family) return false;
    if (wanted->family == AF_INET && allowed->length == 4) {
        const struct sockaddr_in *address = (const void *)&wanted->address;
        return wanted->length >= sizeof *address && ntohs(address->sin_port) == allowed->port &&
               memcmp(&address->sin_addr, allowed->address, 4) == 0;
    }
    if (wanted->family == AF_INET6 && allowed->length == 16) {
        const struct sockaddr_in6 *address = (const void *)&wanted->address;
        return wanted->length >= sizeof *address && ntohs(address->sin6_port) == allowed->port &&
               address->sin6_scope_id == 0 &&
               memcmp(&address->sin6_addr, allowed->address, 16) == 0;
    }
    return false;
}

static int open_if_allowed(void *context, int purpose, socket_address *wanted) {
    (void)purpose;
    crt_curl_address *allowed = context;
    if (!is_allowed(allowed, wanted)) {
        allowed->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(wanted->family, wanted->type | SOCK_CLOEXEC, wanted->protocol);
}

int crt_curl_easy_set_address(crt_curl curl, void *easy, crt_curl_address *allowed) {
    int code = curl.table->easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_if_allowed);
    return code ? code : curl.table->easy_setopt(easy, CURLOPT_OPENSOCKETDATA, allowed);
}

// Called on a connection that is ready, before the head of the request leaves.
static int send_once(
    void *context, char *address, char *own_address, int port, int own_port) {
    (void)address, (void)own_address, (void)port, (void)own_port;
    unsigned *uses = context;
    *uses += 1;
    return *uses == 1 ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

int crt_curl_easy_set_once(crt_curl curl, void *easy, unsigned *uses) {
    int code = curl.table->easy_setopt(easy, CURLOPT_PREREQFUNCTION, send_once);
    return code ? code : curl.table->easy_setopt(easy, CURLOPT_PREREQDATA, uses);
}

bool crt_curl_easy_is_connected(crt_curl curl, void *easy) {
    int64_t microseconds = 0;
    int code = curl.table->easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &microseconds);
    return code == CURLE_OK && microseconds > 0;
}

long crt_curl_easy_certificate_fault(crt_curl curl, void *easy) {
    long fault = 0;
    curl.table->easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &fault);
    return fault;
}

void crt_curl_easy_read_again(crt_curl curl, void *easy) {
    // Unpausing reads, since data may be off the socket already; it does nothing without a pause.
    if (curl.table->easy_pause(easy, CURLPAUSE_RECV) == CURLE_OK)
        curl.table->easy_pause(easy, CURLPAUSE_CONT);
}

// MARK: Lists

crt_curl_list *crt_curl_list_append(crt_curl curl, crt_curl_list *list, const char *line) {
    return curl.table->slist_append(list, line);
}

void crt_curl_list_wipe(crt_curl curl, crt_curl_list *list) {
    for (crt_curl_list *node = list; node; node = node->next)
        explicit_bzero(node->data, strlen(node->data));
    curl.table->slist_free_all(list);
}

// MARK: Multi handles

void *crt_curl_multi_init(crt_curl curl) { return curl.table->multi_init(); }
void crt_curl_multi_cleanup(crt_curl curl, void *multi) { curl.table->multi_cleanup(multi); }

int crt_curl_multi_set_long(crt_curl curl, void *multi, crt_curl_multi_option option, long value) {
    return curl.table->multi_setopt(multi, (int)option, value);
}

int crt_curl_multi_add(crt_curl curl, void *multi, void *easy) {
    return curl.table->multi_add_handle(multi, easy);
}

int crt_curl_multi_remove(crt_curl curl, void *multi, void *easy) {
    return curl.table->multi_remove_handle(multi, easy);
}

int crt_curl_multi_perform(crt_curl curl, void *multi) {
    int running = 0;
    return curl.table->multi_perform(multi, &running);
}

int crt_curl_multi_poll(crt_curl curl, void *multi, int milliseconds) {
    return curl.table->multi_poll(multi, NULL, 0, milliseconds, NULL);
}

void crt_curl_multi_wait_for_bytes(crt_curl curl, void *multi, int count) {
    fd_set read, write, other;
    FD_ZERO(&read);
    FD_ZERO(&write);
    FD_ZERO(&other);
    int last = -1;
    if (curl.table->multi_fdset(multi, &read, &write, &other, &last) != 0) return;
    for (int socket = 0; socket <= last; socket++)
        if (FD_ISSET(socket, &read))
            setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &count, sizeof count);
}

int crt_curl_wake(crt_curl_waker waker) {
    return waker.curl.table->multi_wakeup(waker.multi);
}

bool crt_curl_multi_next_ended(crt_curl curl, void *multi, uintptr_t *tag, int *code) {
    int left = 0;
    for (;;) {
        const message *message = curl.table->multi_info_read(multi, &left);
        if (!message) return false;
        if (message->kind != CURLMSG_DONE) continue;
        char *private = NULL;
        *code = message->data.result;
        curl.table->easy_getinfo(message->easy, CURLINFO_PRIVATE, &private);
        *tag = (uintptr_t)private;
        return true;
    }
}
