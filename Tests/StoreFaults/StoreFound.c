#define _GNU_SOURCE
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

/// 1 when a file holds any of it, 0 when not, -1 when it cannot be read.
static int holds(const char *path, const char *wanted, size_t count) {
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    // One that is gone by now holds nothing.
    if (file < 0) return errno == ENOENT ? 0 : -1;
    struct stat status;
    int result = -1;
    char *bytes = NULL;
    if (fstat(file, &status) == 0 && (bytes = malloc((size_t)status.st_size + 1)) != NULL) {
        ssize_t size = pread(file, bytes, (size_t)status.st_size, 0);
        result = size < 0 ? -1 : 0;
        for (size_t start = 0; result == 0 && start + 24 <= count; start += 24) {
            if (memmem(bytes, (size_t)size, wanted + start, 24) != NULL) result = 1;
        }
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
