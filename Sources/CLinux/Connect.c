#define _GNU_SOURCE
#include "Connect.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

int linux_resolve(const char *host, uint16_t port, struct linux_address *addresses, int capacity) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    struct addrinfo *found = NULL;
    int error = getaddrinfo(host, service, &hints, &found);
    if (error) return -abs(error);
    int count = 0;
    for (const struct addrinfo *one = found; one && count < capacity; one = one->ai_next) {
        if (one->ai_addrlen > sizeof addresses[count].bytes) continue;
        memcpy(addresses[count].bytes, one->ai_addr, one->ai_addrlen);
        addresses[count].count = one->ai_addrlen;
        count += 1;
    }
    freeaddrinfo(found);
    return count;
}

static int closed(int descriptor, int error) {
    close(descriptor);
    return -error;
}

int linux_connect_begin(const struct linux_address *address) {
    // Copied: the bytes of an address carry no alignment.
    struct sockaddr_storage target = {0};
    memcpy(&target, address->bytes, sizeof address->bytes);
    int descriptor =
        socket(target.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (descriptor < 0) return -errno;
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(descriptor, (const struct sockaddr *)&target, address->count) == 0 ||
        errno == EINPROGRESS)
        return descriptor;
    return closed(descriptor, errno);
}

int linux_connect_result(int descriptor) {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) < 0) return -errno;
    return -error;
}

/// A blocking connection whose calls wait for at most `milliseconds` each.
static int connect_stream(const void *target, socklen_t size, int family, uint32_t milliseconds) {
    int descriptor = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -errno;
    // socket(7): the time limit of sending holds for connecting, too.
    struct timeval limit = {
        .tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    int result = TEMP_FAILURE_RETRY(connect(descriptor, target, size));
    return result == 0 ? descriptor : closed(descriptor, errno);
}

int linux_connect_tcp(const char *host, uint16_t port, uint32_t milliseconds) {
    struct linux_address addresses[8];
    int count = linux_resolve(host, port, addresses, 8);
    int result = -EADDRNOTAVAIL;
    for (int index = 0; index < count && result < 0; index += 1) {
        struct sockaddr_storage target = {0};
        memcpy(&target, addresses[index].bytes, sizeof addresses[index].bytes);
        result = connect_stream(&target, addresses[index].count, target.ss_family, milliseconds);
    }
    return result;
}

/// Returns the size of the address, 0 when the name does not fit.
static socklen_t unix_address(struct sockaddr_un *address, const uint8_t *name, size_t count) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    // A path keeps its NUL; an abstract name is counted and has none.
    if (count == 0 || count >= sizeof address->sun_path) return 0;
    memcpy(address->sun_path, name, count);
    return offsetof(struct sockaddr_un, sun_path) + count + (name[0] != 0);
}

int linux_connect_unix(const uint8_t *name, size_t count, uint32_t milliseconds) {
    struct sockaddr_un target;
    socklen_t size = unix_address(&target, name, count);
    return size ? connect_stream(&target, size, AF_UNIX, milliseconds) : -ENAMETOOLONG;
}

void linux_send_datagram(const uint8_t *name, size_t count, const void *bytes, size_t size) {
    struct sockaddr_un target;
    socklen_t target_size = unix_address(&target, name, count);
    int descriptor = target_size ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (descriptor < 0) return;
    sendto(descriptor, bytes, size, MSG_NOSIGNAL, (const void *)&target, target_size);
    close(descriptor);
}
