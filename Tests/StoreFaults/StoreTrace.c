#define _GNU_SOURCE
#include "StoreTrace.h"
#include "StoreFaults.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int trace = -1;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

int wake_trace(const char *path) {
    trace = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    return trace >= 0 ? 0 : errno;
}

void wake_note(char letter, unsigned long inode, long number, const void *bytes, size_t count) {
    if (trace < 0) return;
    int before = errno;
    unsigned char head[21];
    uint32_t length = (uint32_t)count;
    head[0] = (unsigned char)letter;
    memcpy(head + 1, &inode, 8);
    memcpy(head + 9, &number, 8);
    memcpy(head + 17, &length, 4);
    struct iovec parts[2] = {{head, sizeof head}, {(void *)bytes, count}};
    pthread_mutex_lock(&order);
    syscall(SYS_writev, trace, parts, count > 0 ? 2 : 1);
    pthread_mutex_unlock(&order);
    errno = before;
}

void wake_note_file(char letter, int descriptor, long number, const void *bytes, size_t count) {
    if (trace < 0) return;
    int before = errno;
    struct stat status;
    if (fstat(descriptor, &status) == 0) wake_note(letter, status.st_ino, number, bytes, count);
    errno = before;
}

void wake_trace_directory(const char *path) {
    struct stat status;
    if (stat(path, &status) == 0) wake_note('D', status.st_ino, 0, path, strlen(path));
}

int wake_is_file(int descriptor) {
    int before = errno;
    struct stat status;
    int result = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    errno = before;
    return result;
}
