#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

_Static_assert((uint32_t)linux_in == EPOLLIN && (uint32_t)linux_out == EPOLLOUT, "epoll bits");
_Static_assert((uint32_t)linux_error == EPOLLERR && (uint32_t)linux_hangup == EPOLLHUP, "epoll");
_Static_assert((uint32_t)linux_read_hangup == EPOLLRDHUP, "epoll bits");
_Static_assert((uint32_t)linux_edge == EPOLLET, "epoll bits");

static int checked(int result) { return result < 0 ? -errno : result; }

/// Closes and passes the error on: for set-ups that failed half way.
static int abandon(int descriptor, int error) {
    close(descriptor);
    return -error;
}

// MARK: epoll and its companions

int linux_epoll_create(void) { return checked(epoll_create1(EPOLL_CLOEXEC)); }

static int control(int epoll, int operation, int descriptor, uint32_t bits, uint64_t token) {
    struct epoll_event event = {.events = bits, .data = {.u64 = token}};
    return checked(epoll_ctl(epoll, operation, descriptor, &event));
}

int linux_epoll_add(int epoll, int descriptor, uint32_t bits, uint64_t token) {
    return control(epoll, EPOLL_CTL_ADD, descriptor, bits, token);
}

int linux_epoll_remove(int epoll, int descriptor) {
    return control(epoll, EPOLL_CTL_DEL, descriptor, 0, 0);
}

int linux_epoll_wait(int epoll, struct linux_event *events, int capacity, int milliseconds) {
    struct epoll_event raw[256];
    if (capacity > 256) capacity = 256;
    int count = epoll_wait(epoll, raw, capacity, milliseconds);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < count; i++) {
        events[i].token = raw[i].data.u64;
        events[i].bits = raw[i].events;
    }
    return count;
}

int linux_clock_watch_create(void) {
    int timer = checked(timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK));
    if (timer >= 0) linux_clock_watch_again(timer);
    return timer;
}

void linux_clock_watch_again(int timer) {
    // Reading takes what is there, ECANCELED as a rule; the time is as late as there is one.
    uint64_t count;
    ssize_t result = read(timer, &count, sizeof count);
    (void)result;
    struct itimerspec latest = {.it_value = {.tv_sec = INT64_MAX}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &latest, NULL);
}

int linux_eventfd_create(void) { return checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

void linux_eventfd_signal(int descriptor) {
    uint64_t one = 1;
    TEMP_FAILURE_RETRY(write(descriptor, &one, sizeof one));
}

// MARK: listening

static int listen_address(const struct addrinfo *address, int backlog) {
    int descriptor = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -errno;
    int one = 1, zero = 0;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    // Accepted sockets inherit it (tcp(7)): an answer, one write, waits for no acknowledgement.
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    // "::" serves IPv4 too, whatever the system's default is.
    if (address->ai_family == AF_INET6)
        setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    if (bind(descriptor, address->ai_addr, address->ai_addrlen) < 0)
        return abandon(descriptor, errno);
    if (backlog > 0 && listen(descriptor, backlog) < 0) return abandon(descriptor, errno);
    return descriptor;
}

int linux_listen_tcp(const char *host, uint16_t port, int backlog) {
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, service, &hints, &found) != 0) return -EADDRNOTAVAIL;
    int result = -EADDRNOTAVAIL;
    for (struct addrinfo *each = found; each && result < 0; each = each->ai_next)
        result = listen_address(each, backlog);
    freeaddrinfo(found);
    return result;
}

int linux_bound_port(int descriptor) {
    struct sockaddr_storage bound;
    socklen_t length = sizeof bound;
    if (getsockname(descriptor, (struct sockaddr *)&bound, &length) < 0) return -errno;
    if (bound.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&bound)->sin_port);
    if (bound.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&bound)->sin6_port);
    return 0;
}

/// Whether there is a socket file that can go: 1, or 0 for no file. Fails when somebody listens
/// there, or it is no socket.
static int find_stale(const struct sockaddr_un *address) {
    struct stat found;
    if (lstat(address->sun_path, &found) < 0) return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(found.st_mode)) return -EEXIST;
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0) return -errno;
    int result = connect(probe, (const struct sockaddr *)address, sizeof *address);
    int error = result < 0 ? errno : 0;
    close(probe);
    // unix(7): only ECONNREFUSED says that nobody listens; EAGAIN is a full backlog.
    return error == ECONNREFUSED ? 1 : -EADDRINUSE;
}

static int clear_stale(const struct sockaddr_un *address) {
    int found = find_stale(address);
    return found > 0 ? checked(unlink(address->sun_path)) : found;
}

static int set_path(struct sockaddr_un *address, const char *path) {
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof address->sun_path) return -ENAMETOOLONG;
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, length + 1);
    return 0;
}

int linux_probe_unix(const char *path, const char *directory) {
    struct sockaddr_un address = {0};
    int set = set_path(&address, path);
    if (set < 0) return set;
    int found = find_stale(&address);
    return found < 0 ? found : checked(faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS));
}

int linux_listen_unix(const char *path, uint32_t mode, int backlog) {
    struct sockaddr_un address = {0};
    int set = set_path(&address, path);
    if (set < 0) return set;
    int cleared = clear_stale(&address);
    if (cleared < 0) return cleared;
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -errno;
    // Made without permissions, and nobody connects before listen(), whatever the umask.
    fchmod(descriptor, 0);
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0)
        return abandon(descriptor, errno);
    if (chmod(path, mode) < 0 || listen(descriptor, backlog) < 0) {
        int error = errno;
        unlink(path);
        return abandon(descriptor, error);
    }
    return descriptor;
}

void linux_unlink_unix(int descriptor, const char *path) {
    // A successor may have replaced the file: stop listening, remove it only if nobody answers.
    struct sockaddr_un bound;
    socklen_t length = sizeof bound;
    if (getsockname(descriptor, (struct sockaddr *)&bound, &length) < 0) return;
    if (bound.sun_family != AF_UNIX) return;
    if (strncmp(bound.sun_path, path, sizeof bound.sun_path) != 0) return;
    shutdown(descriptor, SHUT_RDWR);
    clear_stale(&bound);
}

int linux_synchronize_disk(int descriptor) { return syncfs(descriptor); }

bool linux_is_same_user(int descriptor) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0
        && peer.uid == geteuid();
}

// MARK: connections

static void describe(const struct sockaddr_storage *address, struct linux_peer *peer) {
    memset(peer, 0, sizeof *peer);
    if (address->ss_family == AF_INET) {
        peer->family = 4;
        memcpy(peer->address, &((const struct sockaddr_in *)address)->sin_addr, 4);
    } else if (address->ss_family == AF_INET6) {
        peer->family = 6;
        memcpy(peer->address, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
    }
}

int linux_accept(int listener, struct linux_peer *peer) {
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    int descriptor =
        accept4(listener, (struct sockaddr *)&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) return -errno;
    describe(&address, peer);
    return descriptor;
}

ssize_t linux_receive(int descriptor, void *bytes, size_t count) {
    ssize_t result = TEMP_FAILURE_RETRY(recv(descriptor, bytes, count, MSG_DONTWAIT));
    return result < 0 ? -errno : result;
}

ssize_t linux_send(int descriptor, const void *bytes, size_t count, bool more) {
    int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0);
    ssize_t result = TEMP_FAILURE_RETRY(send(descriptor, bytes, count, flags));
    return result < 0 ? -errno : result;
}

ssize_t linux_send_file(int descriptor, int file, int64_t offset, size_t count) {
    off_t position = offset;
    ssize_t result = TEMP_FAILURE_RETRY(sendfile(descriptor, file, &position, count));
    return result < 0 ? -errno : result;
}

int linux_shutdown_send(int descriptor) { return checked(shutdown(descriptor, SHUT_WR)); }

// MARK: files

int linux_allocate_behind(int descriptor, int64_t offset, int64_t count) {
    return checked(fallocate(descriptor, FALLOC_FL_KEEP_SIZE, offset, count));
}

int linux_release_room(int descriptor, int64_t offset, int64_t count) {
    return checked(
        fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, count));
}

// MARK: memory

ssize_t linux_list_attributes(const char *path, char *names, size_t count) {
    ssize_t got = llistxattr(path, names, count);
    return got < 0 ? -errno : got;
}

// MARK: Waiting for a time

static struct timespec time_of(uint64_t nanoseconds) {
    struct timespec time = {
        .tv_sec = (time_t)(nanoseconds / 1000000000), .tv_nsec = (long)(nanoseconds % 1000000000)};
    return time;
}

void linux_semaphore_wait(sem_t *semaphore, uint64_t nanoseconds) {
    struct timespec time = time_of(nanoseconds);
    while (sem_clockwait(semaphore, CLOCK_MONOTONIC, &time) != 0 && errno == EINTR) {}
}

void linux_sleep(uint64_t nanoseconds) {
    struct timespec time = time_of(nanoseconds);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {}
}

int linux_random(void *bytes, size_t count) {
    uint8_t *next = bytes;
    while (count > 0) {
        ssize_t result = getrandom(next, count, 0);
        if (result < 0 && errno == EINTR) continue;
        if (result < 0) return -errno;
        next += result;
        count -= (size_t)result;
    }
    return 0;
}
