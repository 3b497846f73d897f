// Not for Swift: how each library's table is filled once and kept.
#pragma once

#include <pthread.h>

#include "Library.h"

#pragma clang assume_nonnull begin

typedef struct crt_entry crt_entry;

/// The tables of one library, by the file name it was asked for under; zero-initialised but for
/// the lock. A table that was handed out never changes and is never freed: it is used without a
/// lock, and a library that was opened stays open, for it may have registered exit handlers.
typedef struct crt_registry {
    pthread_mutex_t lock;
    crt_entry *_Nullable first;
} crt_registry;

/// Opens the library (NULL: under its usual name) and fills a zeroed table.
typedef crt_status (*crt_fill)(const char *_Nullable name, void *table);

/// Finds the table for `name`, or fills one of `size` bytes under the registry's lock. `table` is
/// written when the status is CRT_LOADED.
crt_status crt_registry_table(crt_registry *registry, const char *_Nullable name, size_t size,
                              crt_fill fill, const void *_Nullable *_Nonnull table);

#pragma clang assume_nonnull end
