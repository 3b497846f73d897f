// Not for Swift: opens libraries, looks their functions up, and keeps one table of functions each.
#pragma once

#include <pthread.h>
#include <stddef.h>

#include "Library.h"

#pragma clang assume_nonnull begin

// The functions of a library are one list of X(result, member, name, parameters), where `name` is
// the documented one. It makes the members of the table and the entries for crt_library_resolve.
#define CRT_MEMBER(result, member, name, parameters) result(*member) parameters;
#define CRT_SYMBOL(result, member, name, parameters) {#name, (void **)&table->member},

/// One function to look up: its documented name and where to put its address.
typedef struct crt_symbol {
    const char *name;
    void *_Nullable *_Nonnull address;
} crt_symbol;

// How OpenSSL says what went wrong, for the lists of functions of both its libraries.
#define CRT_ERROR_FUNCTIONS(X) \
    X(void, clear_errors, ERR_clear_error, (void)) \
    X(unsigned long, peek_error, ERR_peek_error, (void)) \
    X(const char *, error_library, ERR_lib_error_string, (unsigned long error)) \
    X(const char *, error_reason, ERR_reason_error_string, (unsigned long error))

/// Keeps what the thread's queue of errors begins with for `crt_openssl_reason`, unless the call
/// `is_done`, and empties the queue: what is left there confuses later TLS calls. `table`: with the
/// functions above.
#define CRT_SETTLE(table, is_done) \
    do { \
        unsigned long error = (is_done) ? 0 : (table)->peek_error(); \
        if (!(is_done)) \
            crt_keep_reason( \
                error, error ? (table)->error_library(error) : NULL, \
                error ? (table)->error_reason(error) : NULL); \
        (table)->clear_errors(); \
    } while (0)

void crt_keep_reason(
    unsigned long error, const char *_Nullable library, const char *_Nullable reason);

/// Opens the first of `names` (ended by NULL) that can be opened. NULL if none can.
void *_Nullable crt_library_open(const char *_Nullable const *_Nonnull names);

/// Looks up all `symbols`; CRT_FUNCTION_MISSING at the first that is absent.
crt_status crt_library_resolve(void *library, const crt_symbol *symbols, size_t count);

typedef struct crt_entry crt_entry;

/// The tables of one library, by the file name it was asked for under; zero-initialised but for
/// the lock. A table that was handed out never changes and is never freed: it is used without a
/// lock, and a library that was opened stays open, for it may have registered exit handlers.
typedef struct crt_registry {
    pthread_mutex_t lock;
    crt_entry *_Nullable first;
} crt_registry;

/// Opens the library (NULL: under its usual name) and fills a zeroed table, under the lock.
typedef crt_status (*crt_fill)(const char *_Nullable name, void *table);

/// Finds the table for `name`, or fills one of `size` bytes. NULL unless it is CRT_LOADED.
const void *_Nullable crt_registry_table(crt_registry *registry, const char *_Nullable name,
                                         size_t size, crt_fill fill, crt_status *status);

#pragma clang assume_nonnull end
