/// Why an engine could not be made.
package enum PushEngineError: Error, Equatable, Sendable {
    /// OpenSSL 3 is not installed, or lacks a function; `package` is Debian's name for it.
    case libraryMissing(package: String, isIncomplete: Bool)
    /// The configured authority file cannot be read or holds no certificate.
    case authorityFile
    case noMemory
    /// The kernel refused a thread, an epoll or an eventfd.
    case system(Int32)
}
