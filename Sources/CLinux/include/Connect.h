// Connecting: names to addresses, TCP with and without waiting, Unix sockets by name (a path, or an
// abstract name that begins with a zero byte, unix(7)).
#pragma once

#include <stddef.h>
#include <stdint.h>

/// A socket address of either family.
struct linux_address {
    uint8_t bytes[28];
    uint32_t count;
};

/// Addresses of `host`, at most `capacity`. Blocks on the name service. Returns how many, or minus
/// an EAI error's absolute value: 2 (EAI_NONAME) means that there is no such name.
int linux_resolve(const char *host, uint16_t port, struct linux_address *addresses, int capacity);

/// A non-blocking, close-on-exec socket that is connecting, without delay of small segments.
int linux_connect_begin(const struct linux_address *address);
/// Once the socket is writable: 0 when it is connected, or minus the error number.
int linux_connect_result(int descriptor);

/// A blocking, close-on-exec stream socket that is connected, or minus the error number. Connecting
/// and each later call wait for at most `milliseconds`.
int linux_connect_tcp(const char *host, uint16_t port, uint32_t milliseconds);
int linux_connect_unix(const uint8_t *name, size_t count, uint32_t milliseconds);
/// Sends one datagram to a Unix socket, if anybody receives there.
void linux_send_datagram(const uint8_t *name, size_t count, const void *bytes, size_t size);
