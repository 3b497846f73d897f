#include "CCryptoSodium.h"

#include <CCrypto.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

static int blake2b_init(void *state, const unsigned char *key, size_t key_bytes,
                        size_t hash_bytes) {
    return crypto_generichash_init((crypto_generichash_state *)state, key, key_bytes, hash_bytes);
}

static int blake2b_update(void *state, const unsigned char *bytes, unsigned long long count) {
    return crypto_generichash_update((crypto_generichash_state *)state, bytes, count);
}

static int blake2b_final(void *state, unsigned char *hash, size_t hash_bytes) {
    return crypto_generichash_final((crypto_generichash_state *)state, hash, hash_bytes);
}

// The unkeyed BLAKE2b of two runs of bytes, end to end.
static int blake2b_of_two(unsigned char *hash, size_t hash_bytes, const unsigned char *first,
                          unsigned long long first_bytes, const unsigned char *second,
                          unsigned long long second_bytes) {
    crypto_generichash_state state;
    if (crypto_generichash_init(&state, NULL, 0, hash_bytes) != 0 ||
        crypto_generichash_update(&state, first, first_bytes) != 0 ||
        crypto_generichash_update(&state, second, second_bytes) != 0)
        return -1;
    return crypto_generichash_final(&state, hash, hash_bytes);
}

static const struct wake_crypto table = {
    .blake2b_state_bytes = sizeof(crypto_generichash_state),
    .blake2b = crypto_generichash,
    .blake2b_of_two = blake2b_of_two,
    .blake2b_init = blake2b_init,
    .blake2b_update = blake2b_update,
    .blake2b_final = blake2b_final,
    .sha256 = crypto_hash_sha256,
    .siphash128 = crypto_shorthash_siphashx24,
    .secretbox_open = crypto_secretbox_open_easy,
    .ed25519_is_valid_point = crypto_core_ed25519_is_valid_point,
    .ed25519_verify = crypto_sign_verify_detached,
};

// Strong, in the place of the one that returns NULL. libsodium chooses its code for the processor
// when it is initialised (libsodium manual, "Usage"), which may happen on several threads at once.
const struct wake_crypto *wake_crypto_table(void) {
    static atomic_bool is_started;
    if (!atomic_load_explicit(&is_started, memory_order_acquire)) {
        if (sodium_init() < 0) abort();
        atomic_store_explicit(&is_started, true, memory_order_release);
    }
    return &table;
}
