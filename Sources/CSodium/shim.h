// The Swift importer drops crypto_generichash_state (64-byte alignment), so streaming BLAKE2b
// passes the state as untyped memory of crypto_generichash_statebytes() bytes.
#pragma once
#include <sodium.h>

static inline int wake_blake2b_init(void *state, const unsigned char *key, size_t key_bytes,
                                    size_t hash_bytes) {
    return crypto_generichash_init((crypto_generichash_state *)state, key, key_bytes, hash_bytes);
}

static inline int wake_blake2b_update(void *state, const unsigned char *bytes,
                                      unsigned long long count) {
    return crypto_generichash_update((crypto_generichash_state *)state, bytes, count);
}

static inline int wake_blake2b_final(void *state, unsigned char *hash, size_t hash_bytes) {
    return crypto_generichash_final((crypto_generichash_state *)state, hash, hash_bytes);
}
