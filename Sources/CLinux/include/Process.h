// What a process may deny itself, and how it is told to end: calls that Swift cannot import or that
// need a C handler.
#pragma once

/// No core dump, and no other process of the same user may attach or read /proc/PID/mem (prctl(2)).
void linux_set_undumpable(void);

/// Makes SIGTERM, SIGINT and SIGHUP end `linux_wait_for_termination` instead of the process, and
/// SIGPIPE nothing. Returns 0, or minus the error number. Call once, before the wait.
int linux_catch_termination(void);

/// Blocks the calling thread until the first of the three, which it unblocks for itself: a
/// parent may have started this process with them blocked, and whoever waits for them must not
/// inherit that.
void linux_wait_for_termination(void);
