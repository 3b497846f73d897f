#define _GNU_SOURCE
#include "Crypto.h"

#include "Loading.h"

#include <limits.h>
#include <string.h>

// Prototypes as in openssl/evp.h, pem.h, bio.h and err.h; every object is opaque, void here.
typedef int (*password_callback)(char *buffer, int size, int writing, void *context);

#define CRYPTO_FUNCTIONS(X) \
    X(void *, bio_new_mem_buf, BIO_new_mem_buf, (const void *bytes, int count)) \
    X(void *, bio_new, BIO_new, (const void *method)) \
    X(const void *, bio_memory, BIO_s_secmem, (void)) \
    X(int, bio_read, BIO_read, (void *bio, void *bytes, int count)) \
    X(int, bio_free, BIO_free, (void *bio)) \
    X(void *, read_private_key, PEM_read_bio_PrivateKey, \
      (void *bio, void **key, password_callback callback, void *context)) \
    X(void *, read_public_key, PEM_read_bio_PUBKEY, \
      (void *bio, void **key, password_callback callback, void *context)) \
    X(void, key_free, EVP_PKEY_free, (void *key)) \
    /* New in 3.0: an older library fails here. */ \
    X(int, key_is_a, EVP_PKEY_is_a, (const void *key, const char *name)) \
    X(int, key_group_name, EVP_PKEY_get_group_name, \
      (const void *key, char *name, size_t size, size_t *count)) \
    X(int, key_bits, EVP_PKEY_get_bits, (const void *key)) \
    X(int, key_set_text, EVP_PKEY_set_utf8_string_param, \
      (void *key, const char *name, const char *text)) \
    X(int, key_get_bytes, EVP_PKEY_get_octet_string_param, \
      (const void *key, const char *name, unsigned char *bytes, size_t size, size_t *count)) \
    X(void *, key_generate, EVP_PKEY_Q_keygen, \
      (void *context, const char *properties, const char *type, ...)) \
    X(int, write_private_key, PEM_write_bio_PKCS8PrivateKey, \
      (void *bio, const void *key, const void *cipher, const char *password, int count, \
       password_callback callback, void *context)) \
    X(void *, digest_new, EVP_MD_CTX_new, (void)) \
    X(void, digest_free, EVP_MD_CTX_free, (void *digest)) \
    X(const void *, sha256, EVP_sha256, (void)) \
    X(int, sign_init, EVP_DigestSignInit, \
      (void *digest, void **context, const void *type, void *engine, void *key)) \
    X(int, sign, EVP_DigestSign, \
      (void *digest, unsigned char *signature, size_t *signature_count, \
       const unsigned char *message, size_t count)) \
    X(int, verify_init, EVP_DigestVerifyInit, \
      (void *digest, void **context, const void *type, void *engine, void *key)) \
    X(int, verify, EVP_DigestVerify, \
      (void *digest, const unsigned char *signature, size_t signature_count, \
       const unsigned char *message, size_t count)) \
    CRT_ERROR_FUNCTIONS(X) \
    X(void *, read_public_der, d2i_PUBKEY, (void **key, const unsigned char **der, long count)) \
    X(void *, key_context_new, EVP_PKEY_CTX_new, (void *key, void *engine)) \
    X(void, key_context_free, EVP_PKEY_CTX_free, (void *context)) \
    X(int, derive_init, EVP_PKEY_derive_init, (void *context)) \
    X(int, derive_peer, EVP_PKEY_derive_set_peer, (void *context, void *peer)) \
    X(int, derive, EVP_PKEY_derive, (void *context, unsigned char *secret, size_t *count)) \
    X(unsigned char *, hmac, HMAC, \
      (const void *type, const void *key, int key_count, const unsigned char *message, \
       size_t count, unsigned char *code, unsigned *code_count)) \
    X(void *, cipher_new, EVP_CIPHER_CTX_new, (void)) \
    X(void, cipher_free, EVP_CIPHER_CTX_free, (void *cipher)) \
    X(const void *, aes_128_gcm, EVP_aes_128_gcm, (void)) \
    X(int, encrypt_init, EVP_EncryptInit_ex, \
      (void *cipher, const void *type, void *engine, const unsigned char *key, \
       const unsigned char *nonce)) \
    X(int, encrypt, EVP_EncryptUpdate, \
      (void *cipher, unsigned char *sealed, int *sealed_count, const unsigned char *message, \
       int count)) \
    X(int, encrypt_final, EVP_EncryptFinal_ex, \
      (void *cipher, unsigned char *sealed, int *sealed_count)) \
    X(int, decrypt_init, EVP_DecryptInit_ex, \
      (void *cipher, const void *type, void *engine, const unsigned char *key, \
       const unsigned char *nonce)) \
    X(int, decrypt, EVP_DecryptUpdate, \
      (void *cipher, unsigned char *message, int *message_count, const unsigned char *sealed, \
       int count)) \
    X(int, decrypt_final, EVP_DecryptFinal_ex, \
      (void *cipher, unsigned char *message, int *message_count)) \
    X(int, cipher_control, EVP_CIPHER_CTX_ctrl, (void *cipher, int type, int count, void *bytes))

struct crt_crypto_table {
    CRYPTO_FUNCTIONS(CRT_MEMBER)
};

// MARK: Loading

static crt_registry registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

static crt_status fill(const char *name, void *memory) {
    crt_crypto_table *table = memory;
    const crt_symbol symbols[] = {CRYPTO_FUNCTIONS(CRT_SYMBOL)};
    const char *named[] = {name, NULL};
    // OpenSSL 4 where only that is installed.
    const char *usual[] = {"libcrypto.so.3", "libcrypto.so.4", NULL};
    // It initialises itself, from any thread (OPENSSL_init_crypto(3)).
    void *library = crt_library_open(name ? named : usual);
    if (!library) return CRT_NOT_FOUND;
    return crt_library_resolve(library, symbols, sizeof symbols / sizeof symbols[0]);
}

crt_status crt_crypto_load(const char *name, crt_crypto *crypto) {
    crt_status status;
    crypto->table = crt_registry_table(&registry, name, sizeof *crypto->table, fill, &status);
    return status;
}

// MARK: Keys

// pem_password_cb(3): without a callback the library would ask on the terminal.
static int no_password(char *buffer, int size, int writing, void *context) {
    (void)buffer, (void)size, (void)writing, (void)context;
    return -1;
}

static bool is_p256(const crt_crypto_table *table, const void *key) {
    char group[32];
    size_t count = 0;
    return table->key_is_a(key, "EC") == 1
        && table->key_group_name(key, group, sizeof group, &count) == 1
        && strcmp(group, "prime256v1") == 0;
}

static crt_key_status check(const crt_crypto_table *table, crt_key_kind kind, const void *key) {
    if (kind == CRT_KEY_P256) return is_p256(table, key) ? CRT_KEY_READ : CRT_KEY_OTHER_KIND;
    // Not "RSA-PSS": such a key refuses the padding of RS256 (EVP_PKEY-RSA(7)).
    if (table->key_is_a(key, "RSA") != 1) return CRT_KEY_OTHER_KIND;
    int bits = table->key_bits(key);
    return bits >= 2048 && bits <= 8 * CRT_SIGNATURE_BYTES ? CRT_KEY_READ : CRT_KEY_OTHER_SIZE;
}

crt_key_status crt_crypto_read_key(
    crt_crypto crypto, crt_key_kind kind, bool is_private, const uint8_t *pem, size_t count,
    void **key) {
    const crt_crypto_table *table = crypto.table;
    *key = NULL;
    if (count == 0 || count > INT_MAX) return CRT_KEY_MALFORMED;
    // Without its usual providers the library reads keys that it then cannot use, or none at all.
    void *other = crt_crypto_key_pair(crypto);
    if (!other) return CRT_KEY_REFUSED;
    table->key_free(other);
    void *bio = table->bio_new_mem_buf(pem, (int)count);
    if (!bio) return CRT_KEY_REFUSED;
    void *read = is_private ? table->read_private_key(bio, NULL, no_password, NULL)
                            : table->read_public_key(bio, NULL, no_password, NULL);
    table->bio_free(bio);
    CRT_SETTLE(table, read != NULL);
    if (!read) return CRT_KEY_MALFORMED;
    crt_key_status status = check(table, kind, read);
    // EVP_PKEY-EC(7): a file may hold the point compressed, and it is given out as it came. Set
    // here, before anybody shares the key.
    if (status == CRT_KEY_READ && kind == CRT_KEY_P256)
        table->key_set_text(read, "point-format", "uncompressed");
    table->clear_errors();
    if (status == CRT_KEY_READ) *key = read;
    else table->key_free(read);
    return status;
}

bool crt_crypto_public_point(crt_crypto crypto, const void *key, uint8_t *point) {
    size_t count = 0;
    bool is_read = crypto.table->key_get_bytes(key, "pub", point, CRT_POINT_BYTES, &count) == 1
        && count == CRT_POINT_BYTES && point[0] == 4;
    CRT_SETTLE(crypto.table, is_read);
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
    CRT_SETTLE(table, written > 0);
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
    CRT_SETTLE(table, is_signed);
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
    CRT_SETTLE(table, is_good);
    return is_good;
}

// MARK: Encryption

void *crt_crypto_key_pair(crt_crypto crypto) {
    void *key = crypto.table->key_generate(NULL, NULL, "EC", "P-256");
    CRT_SETTLE(crypto.table, key != NULL);
    return key;
}

void *crt_crypto_point_key(crt_crypto crypto, const uint8_t *point) {
    // SubjectPublicKeyInfo of id-ecPublicKey on prime256v1 (RFC 5480 §2), up to the point.
    uint8_t der[26 + CRT_POINT_BYTES] = {
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01,
        0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00};
    if (point[0] != 4) return NULL;
    memcpy(der + 26, point, CRT_POINT_BYTES);
    const unsigned char *start = der;
    void *key = crypto.table->read_public_der(NULL, &start, sizeof der);
    crypto.table->clear_errors();
    return key;
}

bool crt_crypto_agree(crt_crypto crypto, void *key, void *peer, uint8_t *secret) {
    const crt_crypto_table *table = crypto.table;
    size_t count = CRT_BLOCK_BYTES;
    void *context = table->key_context_new(key, NULL);
    bool is_agreed = context && table->derive_init(context) == 1
        && table->derive_peer(context, peer) == 1
        && table->derive(context, secret, &count) == 1 && count == CRT_BLOCK_BYTES;
    if (context) table->key_context_free(context);
    CRT_SETTLE(table, is_agreed);
    return is_agreed;
}

bool crt_crypto_hmac(
    crt_crypto crypto, const uint8_t *key, size_t key_count, const uint8_t *message, size_t count,
    uint8_t *code) {
    const crt_crypto_table *table = crypto.table;
    if (key_count > INT_MAX) return false;
    bool is_made =
        table->hmac(table->sha256(), key, (int)key_count, message, count, code, NULL) != NULL;
    CRT_SETTLE(table, is_made);
    return is_made;
}

// EVP_EncryptInit(3), "AEAD Interface": with no output the input is associated data.
enum { GET_TAG = 0x10, SET_TAG = 0x11 };  // EVP_CTRL_AEAD_GET_TAG, EVP_CTRL_AEAD_SET_TAG

bool crt_crypto_seal(
    crt_crypto crypto, const uint8_t *key, const uint8_t *nonce, const uint8_t *associated,
    size_t associated_count, const uint8_t *message, size_t count, uint8_t *sealed) {
    const crt_crypto_table *table = crypto.table;
    void *cipher = count <= INT_MAX && associated_count <= INT_MAX ? table->cipher_new() : NULL;
    if (!cipher) return false;
    int written = 0, rest = 0;
    bool is_sealed = table->encrypt_init(cipher, table->aes_128_gcm(), NULL, key, nonce) == 1
        && (associated_count == 0
            || table->encrypt(cipher, NULL, &rest, associated, (int)associated_count) == 1)
        && table->encrypt(cipher, sealed, &written, message, (int)count) == 1
        && written == (int)count && table->encrypt_final(cipher, sealed + count, &rest) == 1
        && table->cipher_control(cipher, GET_TAG, CRT_TAG_BYTES, sealed + count) == 1;
    table->cipher_free(cipher);
    CRT_SETTLE(table, is_sealed);
    return is_sealed;
}

bool crt_crypto_open(
    crt_crypto crypto, const uint8_t *key, const uint8_t *nonce, const uint8_t *associated,
    size_t associated_count, const uint8_t *sealed, size_t count, uint8_t *message) {
    const crt_crypto_table *table = crypto.table;
    if (count < CRT_TAG_BYTES || count > INT_MAX || associated_count > INT_MAX) return false;
    void *cipher = table->cipher_new();
    if (!cipher) return false;
    size_t length = count - CRT_TAG_BYTES;
    int written = 0, rest = 0;
    // The tag is only read.
    bool is_open = table->decrypt_init(cipher, table->aes_128_gcm(), NULL, key, nonce) == 1
        && (associated_count == 0
            || table->decrypt(cipher, NULL, &rest, associated, (int)associated_count) == 1)
        && table->decrypt(cipher, message, &written, sealed, (int)length) == 1
        && written == (int)length
        && table->cipher_control(cipher, SET_TAG, CRT_TAG_BYTES, (void *)(sealed + length)) == 1
        && table->decrypt_final(cipher, message + length, &rest) == 1;
    table->cipher_free(cipher);
    table->clear_errors();
    return is_open;
}
