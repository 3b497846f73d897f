// Hardening of a process, and signals that end it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// A digit of the commit that the program was built from, as ASCII: digit 0 is the first one. 0
/// behind the last, and for each in a build that was not given the commit (REVEILLE_COMMIT,
/// Package.swift).
uint8_t linux_build_commit_digit(int index);

/// Whether the sources had changes beside that commit.
bool linux_build_is_changed(void);

/// Standard streams that are closed take up their numbers and stay unusable. Ignores SIGXFSZ.
void linux_begin_program(void);
/// Has all tasks of Swift run where no timer of libdispatch fires while nothing is to be done. Call
/// before the first task.
void linux_rest_quietly(void);

/// Memory stays in the process: a crash ends it without a core file or dump and without Swift's
/// backtrace, which prints registers and the bytes they point to ("Backtracing" in Swift's
/// documentation), no other process of the same user may attach or read its memory (prctl(2)), and
/// libdispatch, which names pointers, writes nothing.
void linux_keep_memory_private(void);

/// The width of a terminal; 0 when it is not known.
int linux_terminal_columns(int descriptor);

/// Makes SIGTERM, SIGINT and SIGHUP end `linux_wait_for_termination` instead of the process, and
/// SIGPIPE nothing. Returns 0, or minus the error number. Call once, before the wait.
int linux_catch_termination(void);

/// Makes SIGHUP end `linux_wait_for_hangup` and nothing else, from then on. Returns 0, or minus the
/// error number. Call once.
int linux_catch_hangup(void);

/// Waits for SIGHUP, which it unblocks for this thread; several since the last wait are one.
void linux_wait_for_hangup(void);

/// Waits for the first of the three, which it unblocks for this thread (a parent may block them),
/// and returns its number.
int linux_wait_for_termination(void);
