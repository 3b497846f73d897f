#define _GNU_SOURCE
#include "StoreFaults.h"

#include "StoreTrace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
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

static atomic_long steps;
static atomic_long die_at;

void wake_die(long at) { die_at = at > 0 ? steps + at : 0; }

long wake_steps(void) { return steps; }

static void step(void) {
    long now = atomic_fetch_add(&steps, 1) + 1;
    if (die_at != 0 && now >= die_at) kill(getpid(), SIGKILL);
}

static int fails(enum wake_call call) {
    long now = atomic_fetch_add(&counts[call], 1) + 1;
    long at = fail_at[call];
    if (at == 0 || now < at || (now > at && !fail_lasting[call])) return 0;
    errno = fail_number[call];
    return 1;
}

int fsync(int descriptor) {
    if (fails(WAKE_SYNC)) return -1;
    step();
    int result = (int)syscall(SYS_fsync, descriptor);
    if (result == 0) wake_note_file('S', descriptor, 0, NULL, 0);
    return result;
}

int fdatasync(int descriptor) { return fsync(descriptor); }

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    if (fails(WAKE_WRITE)) return -1;
    step();
    ssize_t result = syscall(SYS_pwrite64, descriptor, bytes, count, offset);
    if (result > 0) wake_note_file('W', descriptor, offset, bytes, (size_t)result);
    return result;
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    return pwrite(descriptor, bytes, count, offset);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    // Pipes and terminals are no files, and nobody waits for what is said there.
    if (descriptor <= 2 || !wake_is_file(descriptor)) {
        if (descriptor == 1) wake_note('M', 0, 0, bytes, count);
        return syscall(SYS_write, descriptor, bytes, count);
    }
    if (fails(WAKE_WRITE)) return -1;
    step();
    off_t offset = lseek(descriptor, 0, SEEK_CUR);
    ssize_t result = syscall(SYS_write, descriptor, bytes, count);
    if (result > 0) wake_note_file('W', descriptor, offset, bytes, (size_t)result);
    return result;
}

int ftruncate(int descriptor, off_t count) {
    if (fails(WAKE_TRUNCATE)) return -1;
    step();
    int result = (int)syscall(SYS_ftruncate, descriptor, count);
    if (result == 0) wake_note_file('T', descriptor, count, NULL, 0);
    return result;
}

int ftruncate64(int descriptor, off64_t count) { return ftruncate(descriptor, count); }

int rename(const char *from, const char *to) {
    if (fails(WAKE_RENAME)) return -1;
    step();
    int result = (int)syscall(SYS_rename, from, to);
    if (result == 0) {
        char both[2048];
        int count = snprintf(both, sizeof both, "%s%c%s", from, 0, to);
        wake_note('R', 0, 0, both, (size_t)count);
    }
    return result;
}

int unlink(const char *path) {
    if (fails(WAKE_UNLINK)) return -1;
    step();
    int result = (int)syscall(SYS_unlink, path);
    if (result == 0) wake_note('U', 0, 0, path, strlen(path));
    return result;
}

static const char *greedy;

void wake_hog_at_opening(const char *path) { greedy = path; }

/// Fills the disk, by system calls that neither count nor fail.
static void hog(void) {
    static const char zeros[4096];
    int file = (int)syscall(SYS_openat, AT_FDCWD, greedy, O_WRONLY | O_CREAT | O_APPEND, 0600);
    while (syscall(SYS_write, file, zeros, sizeof zeros) > 0) {}
    syscall(SYS_close, file);
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    // The runtime's own look into /proc is no part of the store, and it does not survive a refusal.
    if (strncmp(path, "/proc/", 6) != 0 && fails(WAKE_OPEN)) return -1;
    struct stat status;
    int changes = (flags & O_TRUNC) || ((flags & O_CREAT) && stat(path, &status) != 0);
    if (changes) step();
    int result = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    int number = errno;
    if (changes && greedy != NULL) hog();
    if (result >= 0 && changes) wake_note_file('C', result, 0, path, strlen(path));
    errno = number;
    return result;
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
