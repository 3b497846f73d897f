// OpenSSL writes every record of at most 16 KiB with a system call of its own, which costs a busy
// connection more than to encrypt it does. A client's records are therefore collected here, and
// sent together.
#pragma once

#include <stdbool.h>
#include <stddef.h>

/// The functions of libcrypto that an outbox is made with: BIO_meth_new(3), BIO_set_data(3),
/// BIO_set_flags(3).
typedef struct {
    void *(*meth_new)(int type, const char *name);
    int (*meth_set_write)(void *method, int (*write)(void *bio, const char *bytes, int count));
    int (*meth_set_ctrl)(
        void *method, long (*ctrl)(void *bio, int command, long number, void *pointer));
    void *(*new)(const void *method);
    void (*set_data)(void *bio, void *data);
    void *(*get_data)(void *bio);
    void (*set_init)(void *bio, int is_ready);
    void (*set_flags)(void *bio, int flags);
    void (*clear_flags)(void *bio, int flags);
} crt_bio_functions;

typedef struct crt_outbox crt_outbox;

enum crt_outbox_state { CRT_OUTBOX_EMPTY, CRT_OUTBOX_WAITS, CRT_OUTBOX_FAILED };

/// Once per loaded library. Its functions are remembered for good: they are the same each time.
/// NULL when out of memory.
void *crt_outbox_method(const crt_bio_functions *functions);

crt_outbox *crt_outbox_new(int socket);
void crt_outbox_free(crt_outbox *box);
/// A BIO that writes into `box`, which must outlive it. NULL when out of memory.
void *crt_outbox_bio(const void *method, crt_outbox *box);
/// Sends as much as the socket takes.
enum crt_outbox_state crt_outbox_flush(crt_outbox *box);
