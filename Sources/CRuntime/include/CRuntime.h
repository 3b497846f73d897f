// Shared libraries that are loaded at run time and therefore needed neither to build nor, until
// they are first used, to start. One header and one source file a library:
//
//   Curl.h / Curl.c       libcurl.so.4     (Debian package libcurl4)
//   Crypto.h / Crypto.c   libcrypto.so.3   (Debian package libssl3), or .so.4 (libssl4)
//   SSL.h / SSL.c         libssl.so.3 and libcrypto.so.3, or .so.4 (the same packages)
//
// `Library.h` names what can go wrong with each.
#pragma once

#include "Crypto.h"
#include "Curl.h"
#include "Library.h"
#include "SSL.h"

/// From now on getaddrinfo(3) on the calling thread takes every name as it is: no search domain of
/// resolv.conf(5) is appended to it. The hosts file still counts, which it would not for a name
/// with a dot at its end. A name server that does not answer is waited for so many seconds.
void crt_resolve_whole_names(int seconds);
