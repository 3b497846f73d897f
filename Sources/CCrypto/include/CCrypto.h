// What the portable modules have of C: bytes that are overwritten for good, and the seam between a
// feed's reader and libsodium.
#pragma once
#include <stddef.h>

#pragma clang assume_nonnull begin

// Overwrites bytes with zeros in a way that no optimiser removes.
void wake_wipe(void *bytes, size_t count);

static inline int wake_compare(const void *left, const void *right, size_t count) {
    return __builtin_memcmp(left, right, count);
}

static inline void wake_fill(void *bytes, unsigned char byte, size_t count) {
    __builtin_memset(bytes, byte, count);
}

// The functions of libsodium that a reader needs. Those that end in "state" take as much memory as
// blake2b_state_bytes says, aligned to 64 bytes.
struct wake_crypto {
    size_t blake2b_state_bytes;
    int (*blake2b)(unsigned char *hash, size_t hash_bytes, const unsigned char *bytes,
                   unsigned long long count, const unsigned char *_Nullable key,
                   size_t key_bytes);
    int (*blake2b_of_two)(unsigned char *hash, size_t hash_bytes, const unsigned char *first,
                          unsigned long long first_bytes, const unsigned char *second,
                          unsigned long long second_bytes);
    int (*blake2b_init)(void *state, const unsigned char *_Nullable key, size_t key_bytes,
                        size_t hash_bytes);
    int (*blake2b_update)(void *state, const unsigned char *bytes, unsigned long long count);
    int (*blake2b_final)(void *state, unsigned char *hash, size_t hash_bytes);
    int (*sha256)(unsigned char *hash, const unsigned char *bytes, unsigned long long count);
    int (*siphash128)(unsigned char *hash, const unsigned char *bytes, unsigned long long count,
                      const unsigned char *key);
    int (*secretbox_open)(unsigned char *message, const unsigned char *box,
                          unsigned long long box_bytes, const unsigned char *nonce,
                          const unsigned char *key);
    int (*ed25519_is_valid_point)(const unsigned char *point);
    int (*ed25519_verify)(const unsigned char *signature, const unsigned char *message,
                          unsigned long long count, const unsigned char *key);
};

// The table of libsodium's functions in a program that links CCryptoSodium; NULL in any other,
// for which WakeCrypto has its own. The linker decides: a program calls nothing at its start.
const struct wake_crypto *_Nullable wake_crypto_table(void);

#pragma clang assume_nonnull end
