#pragma once
#include <sqlite3.h>

/// Has SQLite give every page and every row of its own back to free(3), instead of keeping them in
/// pools (sqlite.org/malloc.html §3). Before the first connection; later it changes nothing.
static inline void sqlite_without_pools(void) {
    sqlite3_config(SQLITE_CONFIG_PAGECACHE, (void *)0, 0, 0);
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
}

/// Leaves the log alone when the connection is closed (sqlite.org/c3ref/c_dbconfig_defensive.html,
/// SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE).
static inline int sqlite_keep_log(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
