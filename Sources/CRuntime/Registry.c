#include "Registry.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct crt_entry {
    char *name;
    void *table;
    crt_entry *next;
};

static bool is_named(const crt_entry *entry, const char *name) {
    if (!name || !entry->name) return !name && !entry->name;
    return strcmp(entry->name, name) == 0;
}

static crt_entry *add(crt_registry *registry, const char *name, size_t size, crt_fill fill,
                      crt_status *status) {
    crt_entry *entry = calloc(1, sizeof *entry);
    void *table = calloc(1, size);
    char *copy = name ? strdup(name) : NULL;
    bool has_room = entry && table && (copy || !name);
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

crt_status crt_registry_table(crt_registry *registry, const char *name, size_t size,
                              crt_fill fill, const void **table) {
    pthread_mutex_lock(&registry->lock);
    crt_status status = CRT_LOADED;
    crt_entry *entry = registry->first;
    while (entry && !is_named(entry, name)) entry = entry->next;
    if (!entry) entry = add(registry, name, size, fill, &status);
    if (entry) *table = entry->table;
    pthread_mutex_unlock(&registry->lock);
    return status;
}
