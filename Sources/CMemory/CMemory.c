// Memory that is freed is overwritten first in the whole program: arrays, messages of threads,
// SQLite's rows and pages, buffers of libraries. Tokens do not stay in memory that nobody owns.
//
// The GNU C library allows a program to define these functions itself ("Replacing malloc" of its
// manual); its own go on under the names below. Memory that is never given back is not touched.
#define _GNU_SOURCE
#include "CMemory.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// The sanitizers replace the same functions and must see every call.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MEMORY_IS_WATCHED
#endif
#endif

#ifndef MEMORY_IS_WATCHED
void __libc_free(void *block);

void free(void *block) {
    if (block == NULL) return;
    explicit_bzero(block, malloc_usable_size(block));
    __libc_free(block);
}

void *realloc(void *block, size_t count) {
    if (block == NULL) return malloc(count);
    if (count == 0) {
        free(block);
        return NULL;
    }
    size_t size = malloc_usable_size(block);
    if (count <= size && count >= size / 2) {
        explicit_bzero((char *)block + count, size - count);
        return block;
    }
    // Never where it is: what realloc(3) leaves behind would not be overwritten.
    void *larger = malloc(count);
    if (larger == NULL) return NULL;
    memcpy(larger, block, count < size ? count : size);
    free(block);
    return larger;
}
#endif
