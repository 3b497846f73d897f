#define _GNU_SOURCE
#include "StoreFaults.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct sqlite3;
struct sqlite3_stmt;

static const char *slipped;
static atomic_long slips;

void wake_slip(const char *setting) { slipped = setting; }

long wake_slips(void) { return slips; }

/// Takes the place of libsqlite3's own, as the system calls do.
int sqlite3_prepare_v3(
    struct sqlite3 *database, const char *sql, int bytes, unsigned flags,
    struct sqlite3_stmt **statement, const char **tail) {
    static int (*prepare)(
        struct sqlite3 *, const char *, int, unsigned, struct sqlite3_stmt **, const char **);
    static int (*execute)(struct sqlite3 *, const char *, void *, void *, char **);
    if (prepare == NULL) {
        *(void **)&execute = dlsym(RTLD_NEXT, "sqlite3_exec");
        *(void **)&prepare = dlsym(RTLD_NEXT, "sqlite3_prepare_v3");
    }
    // The first thing a store sets once everything is read back.
    if (slipped != NULL && strncmp(sql, "PRAGMA max_page_count=", 22) == 0) {
        char text[128];
        snprintf(text, sizeof text, "PRAGMA %s", slipped);
        if (execute(database, text, NULL, NULL, NULL) == 0) slips++;
    }
    return prepare(database, sql, bytes, flags, statement, tail);
}
