// The few functions of OpenSSL's libssl that are used, declared here so that no -dev package is
// needed. Names and numbers are those of OpenSSL 3's documented, stable ABI (soname 3); see the man
// page of each name. Every call that can fail clears the thread's error queue first: a stale entry
// makes SSL_get_error(3) report failures that are not there.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "Library.h"

#pragma clang assume_nonnull begin

/// Results below 0 of the calls that move bytes.
enum crt_ssl_result {
    /// Call again when the socket is readable.
    CRT_SSL_WANTS_READ = -1,
    /// Call again, with the same bytes, when the socket is writable.
    CRT_SSL_WANTS_WRITE = -2,
    /// The peer has said that no more will come, or has hung up.
    CRT_SSL_CLOSED = -3,
    /// The connection is of no more use.
    CRT_SSL_FAILED = -4,
};

/// Every function of the two libraries that is used; opaque.
typedef struct crt_ssl_table crt_ssl_table;

/// Loaded libssl and libcrypto, for all threads: the table never changes and is never freed.
typedef struct __attribute__((swift_attr("@Sendable"))) crt_ssl {
    const crt_ssl_table *_Nullable table;
} crt_ssl;

/// Loads both libraries once per process, from any thread. A `name` other than NULL stands for
/// libssl.so.3 and libssl.so.4, and is tried each time.
crt_status crt_ssl_load(const char *_Nullable name, crt_ssl *_Nonnull ssl);

/// SSL_CTX_new(3) for TLS 1.2 and newer, without renegotiation. NULL when refused, for the reason
/// of `crt_openssl_reason`.
void *_Nullable crt_ssl_context_new(crt_ssl ssl, bool is_server);
void crt_ssl_context_free(crt_ssl ssl, void *context);
/// Trusts the authorities of `file` (PEM), or the system's when NULL, and demands a valid
/// certificate of every server. False when the file has none, or cannot be read, as above.
bool crt_ssl_context_trust(crt_ssl ssl, void *context, const char *_Nullable file);
/// A server's certificate chain and key (PEM files). False when one is unreadable or they differ.
bool crt_ssl_context_identify(
    crt_ssl ssl, void *context, const char *chain_file, const char *key_file);
/// A server's choice of protocol: `h2` if the client offers it, otherwise no answer or, when
/// `is_required`, a fatal alert (RFC 7301).
void crt_ssl_context_select_h2(crt_ssl ssl, void *context, bool is_required);

/// SSL_new(3) on a connected, non-blocking socket, which stays the caller's. For a client: offers
/// `h2`, and expects a certificate for `host`, a DNS name or a numeric address. NULL when out of
/// memory or the name is unusable.
void *_Nullable crt_ssl_new(
    crt_ssl ssl, void *context, int socket, bool is_server, const char *_Nullable host);
void crt_ssl_free(crt_ssl ssl, void *connection);

/// SSL_do_handshake(3). 1 once it is complete, otherwise a `crt_ssl_result`.
int crt_ssl_handshake(crt_ssl ssl, void *connection);
/// SSL_get_verify_result(3): 0 is X509_V_OK.
long crt_ssl_verify_result(crt_ssl ssl, void *connection);
/// Whether both sides agreed on HTTP/2.
bool crt_ssl_is_h2(crt_ssl ssl, void *connection);
/// SSL_read(3): bytes read, above 0, or a `crt_ssl_result`. Reads ahead: more may wait in memory,
/// where no poll sees it, until the answer is CRT_SSL_WANTS_READ.
int crt_ssl_read(crt_ssl ssl, void *connection, void *bytes, size_t count);
/// SSL_write(3): bytes taken, above 0 and maybe fewer than asked, or a `crt_ssl_result`. A client's
/// bytes leave in as few system calls as possible; what the socket did not take waits in memory,
/// and no more is taken before it has left.
int crt_ssl_write(crt_ssl ssl, void *connection, const void *bytes, size_t count);
/// Sends what waits in memory: 1 once nothing does, otherwise a `crt_ssl_result`.
int crt_ssl_flush(crt_ssl ssl, void *connection);
/// Sends close_notify, as far as the socket takes it (SSL_shutdown(3)).
void crt_ssl_shutdown(crt_ssl ssl, void *connection);

#pragma clang assume_nonnull end
