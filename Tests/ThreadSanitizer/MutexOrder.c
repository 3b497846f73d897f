// Tells ThreadSanitizer of `Mutex` what it cannot see. Without contention a lock is an atomic
// exchange in code that is instrumented; with it, one in libswiftSynchronization, which is not, and
// what the lock protects would look like races. These take the place of that library's functions
// (Synchronization.swiftinterface, `_MutexHandle`), call them, and say what they order.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define HANDLE __attribute__((swift_context)) void *handle

void __tsan_acquire(void *address);
void __tsan_release(void *address);

SWIFT void lockSlow(uint32_t thread, HANDLE)
    __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
SWIFT bool tryLockSlow(HANDLE) __asm__("$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF");
SWIFT void unlockSlow(HANDLE) __asm__("$s15Synchronization12_MutexHandleV11_unlockSlowyyF");

SWIFT void lockSlow(uint32_t thread, HANDLE) {
    SWIFT void (*next)(uint32_t, HANDLE) =
        dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
    next(thread, handle);
    __tsan_acquire(handle);
}

SWIFT bool tryLockSlow(HANDLE) {
    SWIFT bool (*next)(HANDLE) =
        dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF");
    bool isLocked = next(handle);
    if (isLocked) __tsan_acquire(handle);
    return isLocked;
}

SWIFT void unlockSlow(HANDLE) {
    SWIFT void (*next)(HANDLE) =
        dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
    __tsan_release(handle);
    next(handle);
}

#endif
#endif
