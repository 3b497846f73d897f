#pragma once

/// System calls that an executable linked with this target counts and can be told to fail. The
/// definitions here take the place of libc's for every library of the process, libsqlite3 too.
enum wake_call { WAKE_SYNC, WAKE_WRITE, WAKE_TRUNCATE, WAKE_OPEN, WAKE_CALLS };

/// Lets the `at`-th next call of a kind fail with `number`; every later one too if `lasting`.
void wake_fail(enum wake_call call, long at, int number, int lasting);

/// Calls of a kind so far.
long wake_count(enum wake_call call);

/// Mounts an empty tmpfs of `size` (such as "4m") on a directory, seen by this process alone.
/// Returns 0 or errno. Call before the first thread starts.
int wake_mount_private(const char *directory, const char *size);

/// Makes that tmpfs read-only. Returns 0 or errno.
int wake_remount_readonly(const char *directory);
