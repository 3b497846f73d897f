import Glibc

/// Whether the program runs under an address or thread sanitizer, whose own memory and checks
/// change what a few tests look at.
package enum Sanitizer {
    package static var isActive: Bool {
        unsafe dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil
    }
}
