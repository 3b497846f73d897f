/* Loaded before everything else (ld.so(8), LD_PRELOAD): every flush of a file happens, and then
   takes SLOW_FLUSH_MICROSECONDS longer, as on a disk whose flush is not free. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

typedef int flush(int);

static void wait_longer(void) {
    const char *text = getenv("SLOW_FLUSH_MICROSECONDS");
    long microseconds = text != NULL ? atol(text) : 0;
    if (microseconds <= 0) return;
    int number = errno;
    struct timespec left = {microseconds / 1000000, microseconds % 1000000 * 1000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
    errno = number;
}

int fsync(int descriptor) {
    int result = ((flush *)dlsym(RTLD_NEXT, "fsync"))(descriptor);
    wait_longer();
    return result;
}

int fdatasync(int descriptor) {
    int result = ((flush *)dlsym(RTLD_NEXT, "fdatasync"))(descriptor);
    wait_longer();
    return result;
}
