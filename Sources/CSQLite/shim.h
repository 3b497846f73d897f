#pragma once
#include <sqlite3.h>

/// Has SQLite give every page and every row of its own back to free(3), instead of keeping them in
/// pools (sqlite.org/malloc.html §3). Before the first connection; later it changes nothing.
static inline void sqlite_without_pools(void) {
    sqlite3_config(SQLITE_CONFIG_PAGECACHE, (void *)0, 0, 0);
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
}
