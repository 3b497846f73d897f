#include "Outbox.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

// openssl/bio.h
enum {
    BIO_TYPE_SOURCE_SINK = 0x0400, BIO_CTRL_FLUSH = 11, BIO_CTRL_DUP = 12, BIO_FLAGS_WRITE = 0x02,
    BIO_FLAGS_RWS = 0x07, BIO_FLAGS_SHOULD_RETRY = 0x08,
};

// Four full records with their heads and tags (RFC 8446 §5.2), and room for an alert.
enum { CAPACITY = 4 * (16384 + 256) + 512 };

struct crt_outbox {
    int socket;
    bool has_failed;
    size_t start, end;
    char bytes[CAPACITY];
};

/// Callbacks are given a BIO and nothing to reach libcrypto by.
static const crt_bio_functions *_Atomic shared;

enum crt_outbox_state crt_outbox_flush(crt_outbox *box) {
    while (!box->has_failed && box->start < box->end) {
        // MSG_NOSIGNAL: a closed far end is an error, never a signal.
        ssize_t count =
            send(box->socket, box->bytes + box->start, box->end - box->start, MSG_NOSIGNAL);
        if (count >= 0) {
            box->start += (size_t)count;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return CRT_OUTBOX_WAITS;
        } else if (errno != EINTR) {
            box->has_failed = true;
        }
    }
    box->start = box->end = 0;
    return box->has_failed ? CRT_OUTBOX_FAILED : CRT_OUTBOX_EMPTY;
}

/// What BIO_should_retry(3) reads.
static int retry(const crt_bio_functions *functions, void *bio, enum crt_outbox_state state) {
    if (state == CRT_OUTBOX_WAITS)
        functions->set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY);
    return -1;
}

static int write_bytes(void *bio, const char *bytes, int count) {
    const crt_bio_functions *functions = atomic_load(&shared);
    crt_outbox *box = functions->get_data(bio);
    functions->clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    if (count <= 0) return 0;
    if (CAPACITY - box->end < (size_t)count) {
        enum crt_outbox_state state = crt_outbox_flush(box);
        if (CAPACITY - box->end < (size_t)count) return retry(functions, bio, state);
    }
    memcpy(box->bytes + box->end, bytes, (size_t)count);
    box->end += (size_t)count;
    return count;
}

static long control(void *bio, int command, long number, void *pointer) {
    (void)number;
    (void)pointer;
    if (command == BIO_CTRL_DUP) return 1;
    if (command != BIO_CTRL_FLUSH) return 0;
    const crt_bio_functions *functions = atomic_load(&shared);
    functions->clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    enum crt_outbox_state state = crt_outbox_flush(functions->get_data(bio));
    return state == CRT_OUTBOX_EMPTY ? 1 : retry(functions, bio, state);
}

crt_status crt_outbox_resolve(void *crypto, crt_bio_functions *table) {
    const crt_symbol symbols[] = {BIO_FUNCTIONS(CRT_SYMBOL)};
    return crt_library_resolve(crypto, symbols, sizeof symbols / sizeof symbols[0]);
}

void *crt_outbox_method(const crt_bio_functions *functions) {
    atomic_store(&shared, functions);
    void *method = functions->meth_new(BIO_TYPE_SOURCE_SINK, "outbox");
    if (!method) return NULL;
    functions->meth_set_write(method, write_bytes);
    functions->meth_set_ctrl(method, control);
    return method;
}

crt_outbox *crt_outbox_new(int socket) {
    crt_outbox *box = malloc(sizeof *box);
    if (!box) return NULL;
    box->socket = socket;
    box->has_failed = false;
    box->start = box->end = 0;
    return box;
}

void crt_outbox_free(crt_outbox *box) { free(box); }

void *crt_outbox_bio(const void *method, crt_outbox *box) {
    const crt_bio_functions *functions = atomic_load(&shared);
    void *bio = functions->new(method);
    if (!bio) return NULL;
    functions->set_data(bio, box);
    functions->set_init(bio, 1);
    return bio;
}
