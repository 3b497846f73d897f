// The few functions of libcrypto that sign and verify with SHA-256 and either ECDSA on P-256 (ES256
// of RFC 7518 §3.4) or RSA with PKCS #1 padding (RS256, §3.3), and that encrypt Web Push (RFC
// 8291), declared here so that no -dev package is needed. Names are those of OpenSSL 3's documented
// ABI (soname 3); see their man pages.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "Library.h"

#pragma clang assume_nonnull begin

typedef struct crt_crypto_table crt_crypto_table;

/// A loaded libcrypto, for all threads: the table never changes and lives as long as the process.
typedef struct __attribute__((swift_attr("@Sendable"))) crt_crypto {
    const crt_crypto_table *_Nullable table;
} crt_crypto;

/// Which keys are accepted.
typedef enum crt_key_kind {
    CRT_KEY_P256 = 0,
    /// RSA of 2048 bits or more (RFC 7518 §3.3), for any padding.
    CRT_KEY_RSA = 1,
} crt_key_kind;

/// Whether a key could be read, and if not, why.
typedef enum crt_key_status {
    CRT_KEY_READ = 0,
    /// Not PEM, not a key of the asked-for half, or protected by a password.
    CRT_KEY_MALFORMED = 1,
    /// A key, but not of the kind that was asked for.
    CRT_KEY_OTHER_KIND = 2,
    /// The library reads and makes no key at all: see `crt_openssl_reason`.
    CRT_KEY_REFUSED = 3,
    /// An RSA key of fewer than 2048 bits, or of more than CRT_SIGNATURE_BYTES.
    CRT_KEY_OTHER_SIZE = 4,
} crt_key_status;

/// The longest signature: of RSA with 8192 bits. DER of ECDSA on P-256 has 72 bytes at most.
enum { CRT_SIGNATURE_BYTES = 1024 };

/// Loads libcrypto once per `name` and process, from any thread. NULL: `libcrypto.so.3`,
/// or `libcrypto.so.4` where only that is installed.
crt_status crt_crypto_load(const char *_Nullable name, crt_crypto *_Nonnull crypto);

/// Reads an unencrypted PEM private key (PKCS #8, RFC 5208) or a PEM public key
/// (SubjectPublicKeyInfo, RFC 5280 §4.1). Never asks for a password.
crt_key_status crt_crypto_read_key(
    crt_crypto crypto, crt_key_kind kind, bool is_private, const uint8_t *pem, size_t count,
    void *_Nullable *_Nonnull key);
/// An uncompressed point of P-256 (SEC 1 §2.3.3), and room for its private key as PEM (241 bytes).
enum { CRT_POINT_BYTES = 65, CRT_PEM_BYTES = 1024 };

/// The public half of a P-256 key, either half, into `point`, which holds CRT_POINT_BYTES.
bool crt_crypto_public_point(crt_crypto crypto, const void *key, uint8_t *point);
/// Makes a P-256 key and writes it as PEM (PKCS #8, not encrypted) into `pem`, which holds
/// CRT_PEM_BYTES: the bytes written, or 0.
size_t crt_crypto_generate(crt_crypto crypto, uint8_t *pem);

/// Frees a key; a private one is wiped (EVP_PKEY_free(3), OPENSSL_clear_free(3)).
void crt_crypto_key_free(crt_crypto crypto, void *key);

/// Signs SHA-256 of `message` into `signature`, which holds CRT_SIGNATURE_BYTES: the bytes written,
/// or 0. ECDSA signatures are DER, those of RSA as long as the key (RFC 8017 §8.2). A key may sign
/// on several threads at once.
size_t crt_crypto_sign(
    crt_crypto crypto, void *key, const uint8_t *message, size_t count, uint8_t *signature);
/// Whether `signature`, as above, is that of SHA-256 of `message`. `key` may be either half.
bool crt_crypto_verify(
    crt_crypto crypto, void *key, const uint8_t *message, size_t count, const uint8_t *signature,
    size_t signature_count);

/// Bytes of SHA-256 and of the shared secret of P-256; and of the tag of AES-GCM.
enum { CRT_BLOCK_BYTES = 32, CRT_TAG_BYTES = 16 };

/// A new P-256 key pair, and the public key of an uncompressed point of CRT_POINT_BYTES: NULL when
/// that is not on the curve, and when the library refuses.
void *_Nullable crt_crypto_key_pair(crt_crypto crypto);
void *_Nullable crt_crypto_point_key(crt_crypto crypto, const uint8_t *point);
/// ECDH (NIST SP 800-56A §5.7.1.2): the x of the shared point into `secret`, CRT_BLOCK_BYTES.
bool crt_crypto_agree(crt_crypto crypto, void *key, void *peer, uint8_t *secret);
/// HMAC-SHA-256 (RFC 2104) into `code`, CRT_BLOCK_BYTES.
bool crt_crypto_hmac(
    crt_crypto crypto, const uint8_t *key, size_t key_count, const uint8_t *message, size_t count,
    uint8_t *code);
/// AES-128-GCM (NIST SP 800-38D) with a nonce of 12 bytes: `sealed` holds CRT_TAG_BYTES more than
/// the message, the tag last. `associated` is authenticated with it.
bool crt_crypto_seal(
    crt_crypto crypto, const uint8_t *key, const uint8_t *nonce,
    const uint8_t *_Nullable associated, size_t associated_count,
    const uint8_t *message, size_t count, uint8_t *sealed);
/// The inverse: `count` bytes, the tag among them, into `message`, which holds CRT_TAG_BYTES fewer.
/// False when key, nonce, associated bytes or any bit differ; nothing of `message` counts then.
bool crt_crypto_open(
    crt_crypto crypto, const uint8_t *key, const uint8_t *nonce,
    const uint8_t *_Nullable associated, size_t associated_count,
    const uint8_t *sealed, size_t count, uint8_t *message);

#pragma clang assume_nonnull end
