#include "Library.h"

#include <dlfcn.h>

void *crt_library_open(const char *const *names) {
    for (size_t index = 0; names[index]; index += 1) {
        // RTLD_LOCAL: what we load must not change the meaning of names in the rest of the process.
        // RTLD_NOW: an unusable library fails here, not in the middle of a transfer.
        void *library = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
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
