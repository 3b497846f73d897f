#define _GNU_SOURCE
#include "Loading.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// OpenSSL cleans up when the process exits, also under threads that still use it, which then crash:
// OPENSSL_INIT_NO_ATEXIT, by the first call that initialises it (OPENSSL_init_crypto(3)).
// Found through `library`: with its handle dlsym(3) searches what it depends on, too, whatever
// number OpenSSL's file has.
static void forgo_cleanup_at_exit(void *library) {
    static const uint64_t no_atexit = 0x00080000;
    int (*init)(uint64_t, const void *);
    *(void **)&init = dlsym(library, "OPENSSL_init_crypto");
    if (init) init(no_atexit, NULL);
}

void *crt_library_open(const char *const *names) {
    for (size_t index = 0; names[index]; index += 1) {
        // RTLD_LOCAL: what we load must not change the meaning of names in the rest of the process.
        // RTLD_NOW: an unusable library fails here, not in the middle of a transfer.
        void *library = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
        if (!library) continue;
        forgo_cleanup_at_exit(library);
        return library;
    }
    return NULL;
}

crt_status crt_library_resolve(void *library, const crt_symbol *symbols, size_t count) {
    for (size_t index = 0; index < count; index += 1) {
        void *address = dlsym(library, symbols[index].name);
        if (!address) return CRT_FUNCTION_MISSING;
        *symbols[index].address = address;
    }
    return CRT_LOADED;
}

// MARK: Errors

static _Thread_local char reason_of_thread[160];

const char *crt_openssl_reason(void) { return reason_of_thread; }

void crt_keep_reason(unsigned long error, const char *library, const char *reason) {
    // openssl/err.h: ERR_SYSTEM_FLAG marks a number of errno(3), which has no text there.
    const unsigned long system = 0x80000000;
    char text[96] = "";
    if (error & system) {
        snprintf(text, sizeof text, "%s", strerrordesc_np((int)(error & ~system)));
    } else if (library && reason) {
        snprintf(text, sizeof text, "%s: %s", library, reason);
    } else if (error) {
        snprintf(text, sizeof text, "error %lX", error);
    }
    memcpy(reason_of_thread, text, sizeof text);
}

// MARK: Registry

struct crt_entry {
    /// Empty for the usual one.
    char *name;
    void *table;
    crt_entry *next;
};

static crt_entry *add(crt_registry *registry, const char *name, size_t size, crt_fill fill,
                      crt_status *status) {
    crt_entry *entry = calloc(1, sizeof *entry);
    void *table = calloc(1, size);
    char *copy = strdup(name ? name : "");
    bool has_room = entry && table && copy;
    *status = has_room ? fill(name, table) : CRT_NOT_INITIALISED;
    if (*status != CRT_LOADED) {
        free(entry);
        free(table);
        free(copy);
        return NULL;
    }
    *entry = (crt_entry){.name = copy, .table = table, .next = registry->first};
    registry->first = entry;
    return entry;
}

const void *crt_registry_table(crt_registry *registry, const char *name, size_t size,
                               crt_fill fill, crt_status *status) {
    pthread_mutex_lock(&registry->lock);
    *status = CRT_LOADED;
    crt_entry *entry = registry->first;
    while (entry && strcmp(entry->name, name ? name : "") != 0) entry = entry->next;
    if (!entry) entry = add(registry, name, size, fill, status);
    const void *table = entry ? entry->table : NULL;
    pthread_mutex_unlock(&registry->lock);
    return table;
}
