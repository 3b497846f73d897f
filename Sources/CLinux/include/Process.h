// Hardening of a process, and signals that end it.
#pragma once

/// Memory stays in the process: a crash ends it without a core file or dump and without Swift's
/// backtrace, which prints registers and the bytes they point to ("Backtracing" in Swift's
/// documentation), and no other process of the same user may attach or read its memory (prctl(2)).
void linux_keep_memory_private(void);

/// Makes SIGTERM, SIGINT and SIGHUP end `linux_wait_for_termination` instead of the process, and
/// SIGPIPE nothing. Returns 0, or minus the error number. Call once, before the wait.
int linux_catch_termination(void);

/// Waits for the first of the three, which it unblocks for this thread: a parent may block them.
void linux_wait_for_termination(void);
