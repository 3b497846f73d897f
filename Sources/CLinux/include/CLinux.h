// The parts of Linux that Swift's Glibc module lacks: epoll, eventfd, and socket calls whose flags
// it does not import. Calls return a result of 0 or more, or minus the error number.
#pragma once

#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "Connect.h"
#include "Process.h"

/// What epoll_wait said about one descriptor: the token given with it and the EPOLL bits.
struct linux_event {
    uint64_t token;
    uint32_t bits;
};

/// An accepted connection's peer: family 4 or 6, address in network order; 0 for a Unix socket.
struct linux_peer {
    uint8_t family;
    uint8_t address[16];
};

enum linux_bits {
    linux_in = 0x001, linux_out = 0x004, linux_error = 0x008, linux_hangup = 0x010,
    linux_read_hangup = 0x2000, linux_edge = 1u << 31,
};

int linux_epoll_create(void);
int linux_epoll_add(int epoll, int descriptor, uint32_t bits, uint64_t token);
int linux_epoll_remove(int epoll, int descriptor);
/// Waits at most `milliseconds` (-1: for ever). An interrupted wait returns 0.
int linux_epoll_wait(int epoll, struct linux_event *events, int capacity, int milliseconds);

int linux_eventfd_create(void);
/// Adds one to the counter; a counter that is already full is as good.
void linux_eventfd_signal(int eventfd);

/// A timer that becomes readable whenever CLOCK_REALTIME is set, which a suspension of the machine
/// ends with (timerfd_create(2)).
int linux_clock_watch_create(void);
/// Waits for the next time.
void linux_clock_watch_again(int timer);

/// A non-blocking, close-on-exec listening socket bound to a numeric or resolvable host; with a
/// backlog of 0 one that is bound only.
int linux_listen_tcp(const char *host, uint16_t port, int backlog);
/// The port a TCP socket is bound to; 0 for another family.
int linux_bound_port(int descriptor);
/// A listening Unix socket with exactly `mode`, whatever the umask. A socket file nobody listens on
/// is replaced; one that is alive gives EADDRINUSE, a file that is no socket EEXIST.
int linux_listen_unix(const char *path, uint32_t mode, int backlog);
/// Whether that would succeed, 0 or an error; nothing is made or removed. `directory`: of `path`.
int linux_probe_unix(const char *path, const char *directory);
/// Removes the socket file `path` if it still is the one `descriptor` is bound to.
void linux_unlink_unix(int descriptor, const char *path);

/// Makes all that was written to the file system of a file durable (syncfs(2)).
int linux_synchronize_disk(int descriptor);

/// Whether the far end of a Unix socket is a process of this one's user (unix(7), SO_PEERCRED).
bool linux_is_same_user(int descriptor);

/// The next waiting connection, non-blocking and close-on-exec.
int linux_accept(int listener, struct linux_peer *peer);
ssize_t linux_receive(int descriptor, void *bytes, size_t count);
/// `more` promises that further bytes follow at once (MSG_MORE). A closed far end gives EPIPE,
/// never a signal.
ssize_t linux_send(int descriptor, const void *bytes, size_t count, bool more);
ssize_t linux_send_file(int descriptor, int file, int64_t offset, size_t count);
/// Ends our side of the conversation; the far end reads an end of file.
int linux_shutdown_send(int descriptor);

/// Allocates blocks without a change of the size (FALLOC_FL_KEEP_SIZE); 0, or minus the error.
int linux_allocate_behind(int descriptor, int64_t offset, int64_t count);

/// Gives blocks back, which read as zeros then (FALLOC_FL_PUNCH_HOLE); 0, or minus the error.
int linux_release_room(int descriptor, int64_t offset, int64_t count);

/// Names of the extended attributes of a file itself, each with a zero behind it (listxattr(2)).
ssize_t linux_list_attributes(const char *path, char *names, size_t count);

/// Returns for every post, and when CLOCK_MONOTONIC shows that number of nanoseconds.
void linux_semaphore_wait(sem_t *semaphore, uint64_t nanoseconds);
/// Returns when CLOCK_MONOTONIC shows that number of nanoseconds.
void linux_sleep(uint64_t nanoseconds);

/// Fills with bytes of the kernel's random generator; 0, or minus the error number.
int linux_random(void *bytes, size_t count);
