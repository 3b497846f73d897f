// OpenSSL writes every record of at most 16 KiB with a system call of its own, which costs a busy
// connection more than to encrypt it does. A client's records are therefore collected here, and
// sent together.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "Loading.h"

// See BIO_meth_new(3), BIO_set_data(3), BIO_set_flags(3).
#define BIO_FUNCTIONS(X) \
    X(void *, meth_new, BIO_meth_new, (int type, const char *name)) \
    X(int, meth_set_write, BIO_meth_set_write, \
      (void *method, int (*write)(void *bio, const char *bytes, int count))) \
    X(int, meth_set_ctrl, BIO_meth_set_ctrl, \
      (void *method, long (*ctrl)(void *bio, int command, long number, void *pointer))) \
    X(void *, new, BIO_new, (const void *method)) \
    X(void, set_data, BIO_set_data, (void *bio, void *data)) \
    X(void *, get_data, BIO_get_data, (void *bio)) \
    X(void, set_init, BIO_set_init, (void *bio, int is_ready)) \
    X(void, set_flags, BIO_set_flags, (void *bio, int flags)) \
    X(void, clear_flags, BIO_clear_flags, (void *bio, int flags))

/// The functions of libcrypto that an outbox is made with.
typedef struct {
    BIO_FUNCTIONS(CRT_MEMBER)
} crt_bio_functions;

crt_status crt_outbox_resolve(void *crypto, crt_bio_functions *table);

typedef struct crt_outbox crt_outbox;

enum crt_outbox_state { CRT_OUTBOX_EMPTY, CRT_OUTBOX_WAITS, CRT_OUTBOX_FAILED };

/// Once per loaded library, whose functions are kept for good. NULL when out of memory.
void *crt_outbox_method(const crt_bio_functions *functions);

crt_outbox *crt_outbox_new(int socket);
void crt_outbox_free(crt_outbox *box);
/// A BIO that writes into `box`, which must outlive it. NULL when out of memory.
void *crt_outbox_bio(const void *method, crt_outbox *box);
/// Sends as much as the socket takes.
enum crt_outbox_state crt_outbox_flush(crt_outbox *box);
