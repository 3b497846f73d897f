import CRuntime

/// What the TLS connections of an engine share: OpenSSL, and whom to trust.
@safe
final class TLSContext: Sendable {
    let library: crt_ssl
    /// The address as a number: pointers are not `Sendable`. OpenSSL allows its use by every thread
    /// once it is set up.
    private let address: UInt

    /// - Parameter authorityFile: certificates (PEM) to trust instead of the system's.
    init(authorityFile: String?, libraryName: String? = nil) throws(PushEngineError) {
        var library = unsafe crt_ssl(table: nil)
        let status =
            if let libraryName {
                unsafe libraryName.withCString { unsafe crt_ssl_load($0, &library) }
            } else {
                unsafe crt_ssl_load(nil, &library)
            }
        guard status == CRT_LOADED else {
            throw .libraryMissing(
                package: "libssl3", isIncomplete: status == CRT_FUNCTION_MISSING)
        }
        guard let context = unsafe crt_ssl_context_new(library, false) else { throw .noMemory }
        let isTrusting =
            if let authorityFile {
                unsafe authorityFile.withCString {
                    unsafe crt_ssl_context_trust(library, context, $0)
                }
            } else {
                unsafe crt_ssl_context_trust(library, context, nil)
            }
        unsafe self.library = unsafe library
        address = UInt(bitPattern: context)
        guard isTrusting else { throw .authorityFile }
    }

    deinit { unsafe crt_ssl_context_free(library, context) }

    var context: UnsafeMutableRawPointer {
        guard let context = unsafe UnsafeMutableRawPointer(bitPattern: address) else {
            preconditionFailure("memory is never at address 0")
        }
        return unsafe context
    }
}
