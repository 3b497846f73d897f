#pragma once

#include <stddef.h>

/// System calls that an executable linked with this target counts and can be told to fail. The
/// definitions here take the place of libc's for every library of the process, libsqlite3 too.
enum wake_call {
    WAKE_SYNC,
    WAKE_WRITE,
    WAKE_TRUNCATE,
    WAKE_OPEN,
    WAKE_RENAME,
    WAKE_UNLINK,
    WAKE_CALLS
};

/// Lets the `at`-th next call of a kind fail with `number`; every later one too if `lasting`.
void wake_fail(enum wake_call call, long at, int number, int lasting);

/// Calls of a kind so far.
long wake_count(enum wake_call call);

/// Ends the process by SIGKILL in place of the `at`-th next call that changes a file or a name.
void wake_die(long at);

/// Such calls so far.
long wake_steps(void);

/// From here on writes every such call, with its bytes, to a new file: what a replay needs to tell
/// what a power cut at any of them leaves. What goes to standard output is noted in between.
/// Records are, little-endian: a letter; 8 bytes inode; 8 bytes number; 4 bytes count; that many
/// bytes.
///
/// | letter | inode | number | bytes |
/// |---|---|---|---|
/// | D | of a directory, see below | | its path |
/// | C | of a file that was made | | its path |
/// | W | of the file | offset | written |
/// | T | of the file | new length | |
/// | S | of a file or directory that was flushed | | |
/// | R | | | both paths of a rename, with a zero between |
/// | U | | | a path that was unlinked |
/// | M | | | said on standard output |
/// Returns 0 or errno. Call before the first thread starts.
int wake_trace(const char *path);

/// Notes the number of a directory that is empty, for a replay that has not seen it.
void wake_trace_directory(const char *path);

/// Mounts an empty tmpfs of `size` (such as "4m") on a directory, seen by this process alone.
/// Returns 0 or errno. Call before the first thread starts.
int wake_mount_private(const char *directory, const char *size);

/// From here on takes all free room of a file system, into the file `path`, whenever a file is made
/// or emptied, before the caller can write to it. The text must live as long as the process.
void wake_hog_at_opening(const char *path);

/// Makes that tmpfs read-only. Returns 0 or errno.
int wake_remount_readonly(const char *directory);

/// Slips a setting such as "secure_delete=OFF" into every connection that a store opens, after the
/// store has read its own settings back: what the controls need to lose and to leave something. The
/// text must live as long as the process.
void wake_slip(const char *setting);

/// Times that it was slipped in so far.
long wake_slips(void);

/// Files of a directory that hold any 24 bytes of `bytes`, looked for at every 24th; -1 when it
/// cannot be read. Its own system calls neither count nor fail.
long wake_found(const char *directory, const void *bytes, size_t count);
