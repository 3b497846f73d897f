#include "SSL.h"

#include "Outbox.h"

#include <stdlib.h>
#include <string.h>

// Prototypes as in openssl/ssl.h, err.h and x509_vfy.h; their structures are opaque, void here.
typedef int (*protocol_callback)(
    void *connection, const unsigned char **out, unsigned char *out_count,
    const unsigned char *in, unsigned in_count, void *argument);

#define SSL_FUNCTIONS(X) \
    X(const void *, client_method, TLS_client_method, (void)) \
    X(const void *, server_method, TLS_server_method, (void)) \
    X(void *, ctx_new, SSL_CTX_new, (const void *method)) \
    X(void, ctx_free, SSL_CTX_free, (void *context)) \
    X(long, ctx_ctrl, SSL_CTX_ctrl, (void *context, int command, long number, void *pointer)) \
    X(uint64_t, ctx_set_options, SSL_CTX_set_options, (void *context, uint64_t options)) \
    X(void, ctx_read_buffer, SSL_CTX_set_default_read_buffer_len, (void *context, size_t count)) \
    X(int, ctx_set_ciphersuites, SSL_CTX_set_ciphersuites, (void *context, const char *list)) \
    X(int, ctx_default_paths, SSL_CTX_set_default_verify_paths, (void *context)) \
    X(int, ctx_load_locations, SSL_CTX_load_verify_locations, \
      (void *context, const char *file, const char *folder)) \
    X(void, ctx_set_verify, SSL_CTX_set_verify, (void *context, int mode, void *callback)) \
    X(int, ctx_use_chain, SSL_CTX_use_certificate_chain_file, (void *context, const char *file)) \
    X(int, ctx_use_key, SSL_CTX_use_PrivateKey_file, (void *context, const char *file, int type)) \
    X(int, ctx_check_key, SSL_CTX_check_private_key, (const void *context)) \
    X(void, ctx_set_alpn_select, SSL_CTX_set_alpn_select_cb, \
      (void *context, protocol_callback choose, void *argument)) \
    X(void *, new, SSL_new, (void *context)) \
    X(void, free, SSL_free, (void *connection)) \
    X(long, ctrl, SSL_ctrl, (void *connection, int command, long number, void *pointer)) \
    X(int, set_fd, SSL_set_fd, (void *connection, int socket)) \
    X(int, set1_host, SSL_set1_host, (void *connection, const char *host)) \
    X(void *, get0_param, SSL_get0_param, (void *connection)) \
    X(int, set_alpn_protos, SSL_set_alpn_protos, \
      (void *connection, const unsigned char *list, unsigned count)) \
    X(void, get0_alpn_selected, SSL_get0_alpn_selected, \
      (const void *connection, const unsigned char **protocol, unsigned *count)) \
    X(void, set_connect_state, SSL_set_connect_state, (void *connection)) \
    X(void, set_accept_state, SSL_set_accept_state, (void *connection)) \
    X(int, do_handshake, SSL_do_handshake, (void *connection)) \
    X(long, get_verify_result, SSL_get_verify_result, (const void *connection)) \
    X(int, read, SSL_read, (void *connection, void *bytes, int count)) \
    X(int, write, SSL_write, (void *connection, const void *bytes, int count)) \
    X(int, shutdown, SSL_shutdown, (void *connection)) \
    X(int, get_error, SSL_get_error, (const void *connection, int result)) \
    X(void, set0_wbio, SSL_set0_wbio, (void *connection, void *bio))

#define CRYPTO_FUNCTIONS(X) \
    CRT_ERROR_FUNCTIONS(X) \
    X(int, param_set1_ip_asc, X509_VERIFY_PARAM_set1_ip_asc, (void *param, const char *address))

struct crt_ssl_table {
    SSL_FUNCTIONS(CRT_MEMBER)
    CRYPTO_FUNCTIONS(CRT_MEMBER)
    crt_bio_functions bio;
    void *outbox_method;
};

typedef struct {
    void *ssl;
    /// NULL: a server's, which writes to the socket itself.
    crt_outbox *outbox;
} connection_state;

enum {
    SSL_CTRL_MODE = 33, SSL_CTRL_SET_READ_AHEAD = 41, SSL_CTRL_SET_TLSEXT_HOSTNAME = 55,
    SSL_CTRL_SET_MIN_PROTO_VERSION = 123, TLS1_2_VERSION = 0x0303, TLSEXT_NAMETYPE_host_name = 0,
    SSL_MODE_ENABLE_PARTIAL_WRITE = 0x1, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER = 0x2,
    SSL_VERIFY_PEER = 1, SSL_FILETYPE_PEM = 1, SSL_ERROR_WANT_READ = 2, SSL_ERROR_WANT_WRITE = 3,
    SSL_ERROR_SYSCALL = 5, SSL_ERROR_ZERO_RETURN = 6, SSL_TLSEXT_ERR_OK = 0,
    SSL_TLSEXT_ERR_ALERT_FATAL = 2, SSL_TLSEXT_ERR_NOACK = 3,
};
static const uint64_t SSL_OP_IGNORE_UNEXPECTED_EOF = 1ull << 7;
static const uint64_t SSL_OP_NO_RENEGOTIATION = 1ull << 30;

// RFC 7301 §3.1: each name with its length in front.
static const unsigned char h2[] = {2, 'h', '2'};

// MARK: Loading

static crt_registry registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

// Both of one version: OpenSSL 3, or 4 where only that is installed. What 4.0 removed (SSLv3,
// engines, methods of one version of TLS) is not used; a function that a library lacks all the same
// is CRT_FUNCTION_MISSING.
static void *open_pair(const char *name, void **crypto) {
    static const char *const pairs[][2] = {
        {"libssl.so.3", "libcrypto.so.3"}, {"libssl.so.4", "libcrypto.so.4"}};
    for (size_t index = 0; index < sizeof pairs / sizeof pairs[0]; index += 1) {
        const char *ssl_names[] = {name ? name : pairs[index][0], NULL};
        const char *crypto_names[] = {pairs[index][1], NULL};
        void *ssl = crt_library_open(ssl_names);
        *crypto = ssl ? crt_library_open(crypto_names) : NULL;
        if (*crypto) return ssl;
    }
    return NULL;
}

static crt_status fill(const char *name, void *memory) {
    crt_ssl_table *table = memory;
    void *crypto;
    void *ssl = open_pair(name, &crypto);
    if (!ssl) return CRT_NOT_FOUND;
    const crt_symbol symbols[] = {SSL_FUNCTIONS(CRT_SYMBOL)};
    crt_status status = crt_library_resolve(ssl, symbols, sizeof symbols / sizeof symbols[0]);
    if (status != CRT_LOADED) return status;
    const crt_symbol shared[] = {CRYPTO_FUNCTIONS(CRT_SYMBOL)};
    status = crt_library_resolve(crypto, shared, sizeof shared / sizeof shared[0]);
    if (status == CRT_LOADED) status = crt_outbox_resolve(crypto, &table->bio);
    if (status != CRT_LOADED) return status;
    table->outbox_method = crt_outbox_method(&table->bio);
    return table->outbox_method ? CRT_LOADED : CRT_NOT_INITIALISED;
}

crt_status crt_ssl_load(const char *name, crt_ssl *ssl) {
    crt_status status;
    ssl->table = crt_registry_table(&registry, name, sizeof *ssl->table, fill, &status);
    return status;
}

// MARK: Contexts

void *crt_ssl_context_new(crt_ssl ssl, bool is_server) {
    const crt_ssl_table *table = ssl.table;
    table->clear_errors();
    void *context = table->ctx_new(is_server ? table->server_method() : table->client_method());
    if (!context) {
        CRT_SETTLE(table, false);
        return NULL;
    }
    table->ctx_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
    table->ctx_ctrl(
        context, SSL_CTRL_MODE,
        SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER, NULL);
    // SSL_CTX_set_read_ahead(3): a record's head and body, and whatever follows, in one read(2).
    table->ctx_ctrl(context, SSL_CTRL_SET_READ_AHEAD, 1, NULL);
    table->ctx_read_buffer(context, 65536);
    // All that OpenSSL offers, with AES-128 first, as browsers have it: it is a tenth cheaper.
    table->ctx_set_ciphersuites(
        context,
        "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
    // A missing close_notify counts as the end: HTTP/2 frames carry their length, so nothing can be
    // cut off unnoticed.
    table->ctx_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    return context;
}

void crt_ssl_context_free(crt_ssl ssl, void *context) { ssl.table->ctx_free(context); }

bool crt_ssl_context_trust(crt_ssl ssl, void *context, const char *file) {
    ssl.table->clear_errors();
    ssl.table->ctx_set_verify(context, SSL_VERIFY_PEER, NULL);
    bool is_loaded = file ? ssl.table->ctx_load_locations(context, file, NULL) == 1
                          : ssl.table->ctx_default_paths(context) == 1;
    CRT_SETTLE(ssl.table, is_loaded);
    return is_loaded;
}

bool crt_ssl_context_identify(
    crt_ssl ssl, void *context, const char *chain_file, const char *key_file) {
    const crt_ssl_table *table = ssl.table;
    table->clear_errors();
    return table->ctx_use_chain(context, chain_file) == 1 &&
        table->ctx_use_key(context, key_file, SSL_FILETYPE_PEM) == 1 &&
        table->ctx_check_key(context) == 1;
}

static int choose_h2(
    void *connection, const unsigned char **out, unsigned char *out_count,
    const unsigned char *in, unsigned in_count, void *is_required) {
    (void)connection;
    for (unsigned index = 0; index + 1 <= in_count; index += in[index] + 1u) {
        if (in_count - index < sizeof h2 || memcmp(in + index, h2, sizeof h2) != 0) continue;
        *out = in + index + 1;
        *out_count = 2;
        return SSL_TLSEXT_ERR_OK;
    }
    return is_required ? SSL_TLSEXT_ERR_ALERT_FATAL : SSL_TLSEXT_ERR_NOACK;
}

void crt_ssl_context_select_h2(crt_ssl ssl, void *context, bool is_required) {
    static char required;
    ssl.table->ctx_set_alpn_select(context, choose_h2, is_required ? &required : NULL);
}

// MARK: Connections

static bool expect_host(const crt_ssl_table *table, void *ssl, const char *host) {
    // RFC 7301: a client that offers one protocol. 0 is success here, unlike everywhere else.
    if (table->set_alpn_protos(ssl, h2, sizeof h2) != 0) return false;
    // X509_VERIFY_PARAM_set1_ip_asc(3) takes numeric addresses and nothing else.
    if (table->param_set1_ip_asc(table->get0_param(ssl), host) == 1) return true;
    // RFC 6066 §3: the name in the clear, never an address.
    if (table->ctrl(
            ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, (void *)host) != 1)
        return false;
    return table->set1_host(ssl, host) == 1;
}

static bool attach_outbox(const crt_ssl_table *table, connection_state *state, int socket) {
    state->outbox = crt_outbox_new(socket);
    if (!state->outbox) return false;
    void *bio = crt_outbox_bio(table->outbox_method, state->outbox);
    if (!bio) return false;
    table->set0_wbio(state->ssl, bio);
    return true;
}

void *crt_ssl_new(crt_ssl ssl, void *context, int socket, bool is_server, const char *host) {
    const crt_ssl_table *table = ssl.table;
    table->clear_errors();
    connection_state *state = calloc(1, sizeof *state);
    if (!state) return NULL;
    state->ssl = table->new(context);
    bool is_ready = state->ssl && table->set_fd(state->ssl, socket) == 1;
    if (is_ready && is_server) {
        table->set_accept_state(state->ssl);
    } else if (is_ready) {
        is_ready = host && expect_host(table, state->ssl, host)
            && attach_outbox(table, state, socket);
        table->set_connect_state(state->ssl);
    }
    if (is_ready) return state;
    crt_ssl_free(ssl, state);
    return NULL;
}

void crt_ssl_free(crt_ssl ssl, void *connection) {
    connection_state *state = connection;
    ssl.table->free(state->ssl);
    crt_outbox_free(state->outbox);
    free(state);
}

static int outcome(const crt_ssl_table *table, const connection_state *state, int result) {
    if (result > 0) return result;
    switch (table->get_error(state->ssl, result)) {
    case SSL_ERROR_WANT_READ: return CRT_SSL_WANTS_READ;
    case SSL_ERROR_WANT_WRITE: return CRT_SSL_WANTS_WRITE;
    // SSL_get_error(3): the socket's own end, such as a reset.
    case SSL_ERROR_SYSCALL:
    case SSL_ERROR_ZERO_RETURN: return CRT_SSL_CLOSED;
    default: return CRT_SSL_FAILED;
    }
}

/// 1 once nothing waits to be sent.
static int flush(connection_state *state) {
    switch (state->outbox ? crt_outbox_flush(state->outbox) : CRT_OUTBOX_EMPTY) {
    case CRT_OUTBOX_EMPTY: return 1;
    case CRT_OUTBOX_WAITS: return CRT_SSL_WANTS_WRITE;
    default: return CRT_SSL_FAILED;
    }
}

int crt_ssl_handshake(crt_ssl ssl, void *connection) {
    connection_state *state = connection;
    ssl.table->clear_errors();
    return outcome(ssl.table, state, ssl.table->do_handshake(state->ssl));
}

long crt_ssl_verify_result(crt_ssl ssl, void *connection) {
    return ssl.table->get_verify_result(((connection_state *)connection)->ssl);
}

bool crt_ssl_is_h2(crt_ssl ssl, void *connection) {
    const unsigned char *protocol = NULL;
    unsigned count = 0;
    ssl.table->get0_alpn_selected(((connection_state *)connection)->ssl, &protocol, &count);
    return protocol && count == 2 && memcmp(protocol, h2 + 1, 2) == 0;
}

static int clamp(size_t count) { return count > 1 << 30 ? 1 << 30 : (int)count; }

int crt_ssl_read(crt_ssl ssl, void *connection, void *bytes, size_t count) {
    connection_state *state = connection;
    ssl.table->clear_errors();
    return outcome(ssl.table, state, ssl.table->read(state->ssl, bytes, clamp(count)));
}

int crt_ssl_write(crt_ssl ssl, void *connection, const void *bytes, size_t count) {
    connection_state *state = connection;
    int flushed = flush(state);
    if (flushed != 1) return flushed;
    int total = 0, result = 1;
    // Partial writes are on: each call makes one record.
    while (result > 0 && (size_t)total < count) {
        ssl.table->clear_errors();
        result = outcome(
            ssl.table, state,
            ssl.table->write(state->ssl, (const char *)bytes + total, clamp(count - total)));
        if (result > 0) total += result;
        if (!state->outbox) break;
    }
    if (total > 0 && flush(state) == CRT_SSL_FAILED) return CRT_SSL_FAILED;
    return total > 0 ? total : result;
}

int crt_ssl_flush(crt_ssl ssl, void *connection) { return flush(connection); }

void crt_ssl_shutdown(crt_ssl ssl, void *connection) {
    connection_state *state = connection;
    ssl.table->clear_errors();
    ssl.table->shutdown(state->ssl);
    flush(state);
}
