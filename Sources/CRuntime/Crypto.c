#define _GNU_SOURCE
#include "Crypto.h"

#include "Registry.h"

#include <limits.h>
#include <string.h>

// Prototypes as in openssl/evp.h, openssl/pem.h, openssl/bio.h and openssl/err.h; every object of
// the library is opaque, void here.
typedef int (*password_callback)(char *buffer, int size, int writing, void *context);

struct crt_crypto_table {
    void *(*bio_new_mem_buf)(const void *bytes, int count);
    void *(*bio_new)(const void *method);
    const void *(*bio_memory)(void);
    int (*bio_read)(void *bio, void *bytes, int count);
    int (*bio_free)(void *bio);
    void *(*read_private_key)(void *bio, void **key, password_callback callback, void *context);
    void *(*read_public_key)(void *bio, void **key, password_callback callback, void *context);
    void (*key_free)(void *key);
    int (*key_is_a)(const void *key, const char *name);
    int (*key_group_name)(const void *key, char *name, size_t size, size_t *count);
    int (*key_bits)(const void *key);
    int (*key_set_text)(void *key, const char *name, const char *text);
    int (*key_get_bytes)(
        const void *key, const char *name, unsigned char *bytes, size_t size, size_t *count);
    void *(*key_generate)(void *context, const char *properties, const char *type, ...);
    int (*write_private_key)(
        void *bio, const void *key, const void *cipher, const char *password, int count,
        password_callback callback, void *context);
    void *(*digest_new)(void);
    void (*digest_free)(void *digest);
    const void *(*sha256)(void);
    int (*sign_init)(void *digest, void **context, const void *type, void *engine, void *key);
    int (*sign)(
        void *digest, unsigned char *signature, size_t *signature_count,
        const unsigned char *message, size_t count);
    int (*verify_init)(void *digest, void **context, const void *type, void *engine, void *key);
    int (*verify)(
        void *digest, const unsigned char *signature, size_t signature_count,
        const unsigned char *message, size_t count);
    void (*clear_errors)(void);
};

// MARK: Loading

static crt_registry registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

static crt_status resolve(void *library, crt_crypto_table *table) {
    const crt_symbol symbols[] = {
        {"BIO_new_mem_buf", (void **)&table->bio_new_mem_buf},
        {"BIO_new", (void **)&table->bio_new},
        {"BIO_s_secmem", (void **)&table->bio_memory},
        {"BIO_read", (void **)&table->bio_read},
        {"BIO_free", (void **)&table->bio_free},
        {"PEM_read_bio_PrivateKey", (void **)&table->read_private_key},
        {"PEM_read_bio_PUBKEY", (void **)&table->read_public_key},
        {"EVP_PKEY_free", (void **)&table->key_free},
        // New in 3.0: an older library fails here.
        {"EVP_PKEY_is_a", (void **)&table->key_is_a},
        {"EVP_PKEY_get_group_name", (void **)&table->key_group_name},
        {"EVP_PKEY_get_bits", (void **)&table->key_bits},
        {"EVP_PKEY_set_utf8_string_param", (void **)&table->key_set_text},
        {"EVP_PKEY_get_octet_string_param", (void **)&table->key_get_bytes},
        {"EVP_PKEY_Q_keygen", (void **)&table->key_generate},
        {"PEM_write_bio_PKCS8PrivateKey", (void **)&table->write_private_key},
        {"EVP_MD_CTX_new", (void **)&table->digest_new},
        {"EVP_MD_CTX_free", (void **)&table->digest_free},
        {"EVP_sha256", (void **)&table->sha256},
        {"EVP_DigestSignInit", (void **)&table->sign_init},
        {"EVP_DigestSign", (void **)&table->sign},
        {"EVP_DigestVerifyInit", (void **)&table->verify_init},
        {"EVP_DigestVerify", (void **)&table->verify},
        {"ERR_clear_error", (void **)&table->clear_errors},
    };
    return crt_library_resolve(library, symbols, sizeof symbols / sizeof symbols[0]);
}

static crt_status fill(const char *name, void *table) {
    const char *names[] = {name ? name : "libcrypto.so.3", NULL};
    // It initialises itself, from any thread (OPENSSL_init_crypto(3)).
    void *library = crt_library_open(names);
    return library ? resolve(library, table) : CRT_NOT_FOUND;
}

crt_status crt_crypto_load(const char *name, crt_crypto *crypto) {
    const void *table = NULL;
    crt_status status = crt_registry_table(&registry, name, sizeof(crt_crypto_table), fill, &table);
    if (status == CRT_LOADED) crypto->table = table;
    return status;
}

// MARK: Keys

// pem_password_cb(3): without a callback the library would ask on the terminal.
static int no_password(char *buffer, int size, int writing, void *context) {
    (void)buffer;
    (void)size;
    (void)writing;
    (void)context;
    return -1;
}

static bool is_p256(const crt_crypto_table *table, const void *key) {
    char group[32];
    size_t count = 0;
    return table->key_is_a(key, "EC") == 1
        && table->key_group_name(key, group, sizeof group, &count) == 1
        && strcmp(group, "prime256v1") == 0;
}

static crt_key_status judge(const crt_crypto_table *table, crt_key_kind kind, const void *key) {
    if (kind == CRT_KEY_P256) return is_p256(table, key) ? CRT_KEY_READ : CRT_KEY_OTHER_KIND;
    // Not "RSA-PSS": such a key refuses the padding of RS256 (EVP_PKEY-RSA(7)).
    if (table->key_is_a(key, "RSA") != 1) return CRT_KEY_OTHER_KIND;
    int bits = table->key_bits(key);
    return bits >= 2048 && bits <= 8 * CRT_SIGNATURE_BYTES ? CRT_KEY_READ : CRT_KEY_OTHER_SIZE;
}

static crt_key_status read_key(
    crt_crypto crypto, crt_key_kind kind, const uint8_t *pem, size_t count, bool is_private,
    void **key) {
    const crt_crypto_table *table = crypto.table;
    *key = NULL;
    if (count == 0 || count > INT_MAX) return CRT_KEY_MALFORMED;
    void *bio = table->bio_new_mem_buf(pem, (int)count);
    if (!bio) return CRT_KEY_NO_MEMORY;
    void *read = is_private ? table->read_private_key(bio, NULL, no_password, NULL)
                            : table->read_public_key(bio, NULL, no_password, NULL);
    table->bio_free(bio);
    // What went wrong is left in the thread's queue, where it would confuse later TLS calls.
    table->clear_errors();
    if (!read) return CRT_KEY_MALFORMED;
    crt_key_status status = judge(table, kind, read);
    // EVP_PKEY-EC(7): a file may hold the point compressed, and it is given out as it came. Set
    // here, before anybody shares the key.
    if (status == CRT_KEY_READ && kind == CRT_KEY_P256) {
        table->key_set_text(read, "point-format", "uncompressed");
    }
    table->clear_errors();
    if (status == CRT_KEY_READ) {
        *key = read;
    } else {
        table->key_free(read);
    }
    return status;
}

crt_key_status crt_crypto_private_key(
    crt_crypto crypto, crt_key_kind kind, const uint8_t *pem, size_t count, void **key) {
    return read_key(crypto, kind, pem, count, true, key);
}

crt_key_status crt_crypto_public_key(
    crt_crypto crypto, crt_key_kind kind, const uint8_t *pem, size_t count, void **key) {
    return read_key(crypto, kind, pem, count, false, key);
}

bool crt_crypto_public_point(crt_crypto crypto, const void *key, uint8_t *point) {
    size_t count = 0;
    bool is_read = crypto.table->key_get_bytes(key, "pub", point, CRT_POINT_BYTES, &count) == 1
        && count == CRT_POINT_BYTES && point[0] == 4;
    crypto.table->clear_errors();
    return is_read;
}

size_t crt_crypto_generate(crt_crypto crypto, uint8_t *pem) {
    const crt_crypto_table *table = crypto.table;
    int written = 0;
    void *key = table->key_generate(NULL, NULL, "EC", "P-256");
    void *bio = table->bio_new(table->bio_memory());
    if (key && bio && table->write_private_key(bio, key, NULL, NULL, 0, NULL, NULL) == 1) {
        written = table->bio_read(bio, pem, CRT_PEM_BYTES);
        // A document that fills the room may have been cut.
        if (written == CRT_PEM_BYTES) written = 0;
    }
    // Wipes what was written into it (OPENSSL_secure_clear_free(3)).
    if (bio) table->bio_free(bio);
    if (key) table->key_free(key);
    table->clear_errors();
    return written > 0 ? (size_t)written : 0;
}

void crt_crypto_key_free(crt_crypto crypto, void *key) { crypto.table->key_free(key); }

// MARK: Signatures

size_t crt_crypto_sign(
    crt_crypto crypto, void *key, const uint8_t *message, size_t count, uint8_t *signature) {
    const crt_crypto_table *table = crypto.table;
    void *digest = table->digest_new();
    if (!digest) return 0;
    size_t written = CRT_SIGNATURE_BYTES;
    bool is_signed = table->sign_init(digest, NULL, table->sha256(), NULL, key) == 1
        && table->sign(digest, signature, &written, message, count) == 1;
    table->digest_free(digest);
    table->clear_errors();
    return is_signed ? written : 0;
}

bool crt_crypto_verify(
    crt_crypto crypto, void *key, const uint8_t *message, size_t count, const uint8_t *signature,
    size_t signature_count) {
    const crt_crypto_table *table = crypto.table;
    void *digest = table->digest_new();
    if (!digest) return false;
    bool is_good = table->verify_init(digest, NULL, table->sha256(), NULL, key) == 1
        && table->verify(digest, signature, signature_count, message, count) == 1;
    table->digest_free(digest);
    table->clear_errors();
    return is_good;
}
