#define _GNU_SOURCE
#include "StoreFaults.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long counts[WAKE_CALLS];
static atomic_long fail_at[WAKE_CALLS];
static atomic_int fail_number[WAKE_CALLS];
static atomic_int fail_lasting[WAKE_CALLS];

void wake_fail(enum wake_call call, long at, int number, int lasting) {
    fail_number[call] = number;
    fail_lasting[call] = lasting;
    fail_at[call] = at > 0 ? counts[call] + at : 0;
}

long wake_count(enum wake_call call) { return counts[call]; }

static int fails(enum wake_call call) {
    long now = atomic_fetch_add(&counts[call], 1) + 1;
    long at = fail_at[call];
    if (at == 0 || now < at || (now > at && !fail_lasting[call])) return 0;
    errno = fail_number[call];
    return 1;
}

int fsync(int descriptor) {
    if (fails(WAKE_SYNC)) return -1;
    return (int)syscall(SYS_fsync, descriptor);
}

int fdatasync(int descriptor) {
    if (fails(WAKE_SYNC)) return -1;
    return (int)syscall(SYS_fdatasync, descriptor);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    if (fails(WAKE_WRITE)) return -1;
    return syscall(SYS_pwrite64, descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    return pwrite(descriptor, bytes, count, offset);
}

int ftruncate(int descriptor, off_t count) {
    if (fails(WAKE_TRUNCATE)) return -1;
    return (int)syscall(SYS_ftruncate, descriptor, count);
}

int ftruncate64(int descriptor, off64_t count) { return ftruncate(descriptor, count); }

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    // The runtime's own look into /proc is no part of the store, and it does not survive a refusal.
    if (strncmp(path, "/proc/", 6) != 0 && fails(WAKE_OPEN)) return -1;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return open(path, flags | O_LARGEFILE, mode);
}

int wake_mount_private(const char *directory, const char *size) {
    // A user namespace of its own gives the right to mount where the kernel allows it; root needs
    // none.
    if (geteuid() != 0) {
        uid_t user = geteuid();
        gid_t group = getegid();
        if (unshare(CLONE_NEWUSER) != 0) return errno;
        char map[64];
        const char *files[] = {
            "/proc/self/setgroups", "/proc/self/uid_map", "/proc/self/gid_map"};
        for (int index = 0; index < 3; index++) {
            if (index == 0) snprintf(map, sizeof map, "deny");
            if (index == 1) snprintf(map, sizeof map, "%u %u 1", user, user);
            if (index == 2) snprintf(map, sizeof map, "%u %u 1", group, group);
            int file = open(files[index], O_WRONLY);
            if (file < 0) return errno;
            ssize_t written = write(file, map, strlen(map));
            close(file);
            if (written < 0) return errno;
        }
    }
    if (unshare(CLONE_NEWNS) != 0) return errno;
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return errno;
    char options[64];
    snprintf(options, sizeof options, "size=%s,mode=0700", size);
    return mount("tmpfs", directory, "tmpfs", 0, options) == 0 ? 0 : errno;
}

int wake_remount_readonly(const char *directory) {
    return mount("tmpfs", directory, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0 ? 0 : errno;
}
