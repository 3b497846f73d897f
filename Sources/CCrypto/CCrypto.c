#include "CCrypto.h"

#include <string.h>

void wake_wipe(void *bytes, size_t count) {
    memset(bytes, 0, count);
    // The memory is said to be read here.
    __asm__ __volatile__("" : : "r"(bytes) : "memory");
}

// Weak: the definition of CCryptoSodium takes its place where that is linked.
__attribute__((weak)) const struct wake_crypto *wake_crypto_table(void) { return NULL; }
