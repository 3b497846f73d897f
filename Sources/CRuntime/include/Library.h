#pragma once

#include <stddef.h>

#pragma clang assume_nonnull begin

/// Why a library could not be used. The caller knows which library it asked for.
typedef enum crt_status {
    /// Loaded; the table may be used from every thread.
    CRT_LOADED = 0,
    /// No shared library of that name could be opened (dlopen(3)).
    CRT_NOT_FOUND = 1,
    /// The library lacks a function that is needed (dlsym(3)).
    CRT_FUNCTION_MISSING = 2,
    /// The library is older than what is needed.
    CRT_TOO_OLD = 3,
    /// The library was built without something that is needed, such as TLS.
    CRT_UNFIT = 4,
    /// The library's own initialisation failed.
    CRT_NOT_INITIALISED = 5,
} crt_status;

/// One function to look up: its documented name and where to put its address.
typedef struct crt_symbol {
    const char *name;
    void *_Nullable *_Nonnull address;
} crt_symbol;

/// Opens the first of `names` (ended by NULL) that can be opened. NULL if none can.
void *_Nullable crt_library_open(const char *_Nullable const *_Nonnull names);

/// Looks up all `symbols`; CRT_FUNCTION_MISSING at the first that is absent.
crt_status crt_library_resolve(void *library, const crt_symbol *symbols, size_t count);

#pragma clang assume_nonnull end
