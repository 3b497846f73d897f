// The C library's resolver, as far as Swift cannot reach its settings.
#pragma once

/// From now on getaddrinfo(3) on the calling thread takes every name as it is: no search domain of
/// resolv.conf(5) is appended to it. The hosts file still counts, which it would not for a name
/// with a dot at its end.
void crt_resolve_whole_names(void);
