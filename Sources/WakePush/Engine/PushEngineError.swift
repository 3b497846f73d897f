/// Why an engine could not be made.
package enum PushEngineError: Error, Hashable, Sendable {
    /// OpenSSL 3 is not installed, or lacks a function; `package` is Debian's name for it.
    case libraryMissing(package: String, isIncomplete: Bool)
    /// The configured authority file cannot be read or holds no certificate.
    case authorityFile
    case noMemory
    /// The kernel refused a thread, an epoll or an eventfd.
    case system(Int32)

    package var word: StaticString {
        switch self {
        case .libraryMissing: "library-missing"
        case .authorityFile: "authority-file"
        case .noMemory: "no-memory"
        case .system: "system"
        }
    }

    /// Two lines: what is wrong, and what to do.
    package var words: String {
        switch self {
        case .libraryMissing(let package, let isIncomplete):
            "OpenSSL 3 is \(isIncomplete ? "incomplete" : "not installed")\n"
                + "hint: apt install \(package)"
        case .authorityFile:
            "the file of ca cannot be read or holds no certificate\n"
                + "hint: ca takes a PEM file; without it the system's authorities are trusted"
        case .noMemory: "out of memory for TLS"
        case .system(let number):
            "the kernel refused a thread or a descriptor (errno \(number))\n"
                + "hint: raise the limits of this service"
        }
    }
}
