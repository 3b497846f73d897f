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
    int error = errno;
    close(descriptor);
    return -error;
}

int linux_connect_result(int descriptor) {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) < 0) return -errno;
    return -error;
}

int linux_connect_unix(const uint8_t *name, size_t count, uint32_t milliseconds) {
    struct sockaddr_un target = {.sun_family = AF_UNIX};
    // A path keeps its NUL; an abstract name is counted and has none.
    if (count == 0 || count >= sizeof target.sun_path) return -ENAMETOOLONG;
    memcpy(target.sun_path, name, count);
    socklen_t size = offsetof(struct sockaddr_un, sun_path) + count + (name[0] != 0);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -errno;
    // socket(7): the time limit of sending holds for connecting, too.
    struct timeval limit = {
        .tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    int result;
    do result = connect(descriptor, (const struct sockaddr *)&target, size);
    while (result < 0 && errno == EINTR);
    if (result == 0) return descriptor;
    int error = errno;
    close(descriptor);
    return -error;
}
