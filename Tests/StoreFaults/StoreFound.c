#include "StoreFaults.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/// More than a row has.
enum { Pieces = 64 };

/// Whether any 24 bytes of what is wanted, at multiples of 24, lie anywhere: in one pass, because a
/// row has many of them. A piece is looked at where its first two bytes are.
/// -1 when there are too many.
static int is_there(
    const unsigned char *bytes, size_t size, const unsigned char *wanted, size_t count) {
    // One more than the place of the last piece with these first bytes; 0: there is none.
    static _Thread_local unsigned short last[1 << 16];
    unsigned short before[Pieces];
    size_t pieces = count / 24;
    if (pieces > Pieces) return -1;
    memset(last, 0, sizeof last);
    for (size_t piece = 0; piece < pieces; piece++) {
        unsigned short *place = &last[wanted[24 * piece] << 8 | wanted[24 * piece + 1]];
        before[piece] = *place;
        *place = (unsigned short)(piece + 1);
    }
    for (size_t start = 0; start + 24 <= size; start++) {
        size_t piece = last[bytes[start] << 8 | bytes[start + 1]];
        for (; piece != 0; piece = before[piece - 1]) {
            if (memcmp(bytes + start, wanted + 24 * (piece - 1), 24) == 0) return 1;
        }
    }
    return 0;
}

/// 1 when a file holds any of it, 0 when not, -1 when it cannot be read.
static int holds(const char *path, const void *wanted, size_t count) {
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    // One that is gone by now holds nothing.
    if (file < 0) return errno == ENOENT ? 0 : -1;
    struct stat status;
    int result = -1;
    unsigned char *bytes = NULL;
    if (fstat(file, &status) == 0 && (bytes = malloc((size_t)status.st_size + 1)) != NULL) {
        ssize_t size = pread(file, bytes, (size_t)status.st_size, 0);
        result = size < 0 ? -1 : is_there(bytes, (size_t)size, wanted, count);
    }
    free(bytes);
    close(file);
    return result;
}

long wake_found(const char *directory, const void *bytes, size_t count) {
    int before = errno;
    DIR *stream = opendir(directory);
    if (stream == NULL) return -1;
    long found = 0;
    struct dirent *entry;
    while (found >= 0 && (entry = readdir(stream)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        int result = holds(path, bytes, count);
        found = result < 0 ? -1 : found + result;
    }
    closedir(stream);
    errno = before;
    return found;
}
