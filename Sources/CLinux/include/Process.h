// What a process may deny itself: calls whose C form is variadic, which Swift cannot import.
#pragma once

/// No core dump, and no other process of the same user may attach or read /proc/PID/mem (prctl(2)).
void linux_set_undumpable(void);
