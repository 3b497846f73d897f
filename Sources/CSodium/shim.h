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

// The unkeyed BLAKE2b of two runs of bytes, end to end.
static inline int wake_blake2b_of_two(unsigned char *hash, size_t hash_bytes,
                                      const unsigned char *first, unsigned long long first_bytes,
                                      const unsigned char *second,
                                      unsigned long long second_bytes) {
    crypto_generichash_state state;
    if (crypto_generichash_init(&state, NULL, 0, hash_bytes) != 0 ||
        crypto_generichash_update(&state, first, first_bytes) != 0 ||
        crypto_generichash_update(&state, second, second_bytes) != 0)
        return -1;
    return crypto_generichash_final(&state, hash, hash_bytes);
}
