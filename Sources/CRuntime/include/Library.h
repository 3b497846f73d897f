#pragma once

/// The result of loading a library. The caller knows which library it asked for.
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

/// What OpenSSL said of the last call of this thread that failed, such as "digital envelope
/// routines: unsupported" (ERR_get_error(3)): its first error, which has caused the others. Empty
/// when it said nothing.
const char *crt_openssl_reason(void);
