// Shared libraries that are loaded at run time and therefore needed neither to build nor, until
// they are first used, to start. One header and one source file a library:
//
//   Curl.h / Curl.c       libcurl.so.4     (Debian package libcurl4)
//   Crypto.h / Crypto.c   libcrypto.so.3   (Debian package libssl3)
//   SSL.h / SSL.c         libssl.so.3 and libcrypto.so.3   (Debian package libssl3)
//
// `Library.h` holds what every one of them needs: find a library, look its functions up, and say
// exactly what was wrong if that failed. `Resolver.h` is about the C library itself.
#pragma once

#include "Crypto.h"
#include "Curl.h"
#include "Library.h"
#include "Resolver.h"
#include "SSL.h"
