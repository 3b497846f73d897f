#pragma once

#include <stddef.h>

/// Appends a record to the trace, if there is one.
void wake_note(char letter, unsigned long inode, long number, const void *bytes, size_t count);

/// The same for the file behind a descriptor.
void wake_note_file(char letter, int descriptor, long number, const void *bytes, size_t count);

/// Whether a descriptor is of a regular file.
int wake_is_file(int descriptor);
