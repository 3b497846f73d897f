private import CSodium

/// The one-time start of libsodium. Every type of this module starts it for itself.
package enum Sodium {
    /// Safe to call often and from any thread (libsodium manual, "Usage").
    package static func start() { _ = started }

    private static let started: Bool = {
        precondition(sodium_init() >= 0, "libsodium could not be initialised")
        return true
    }()

    package static func random(_ count: Int) -> [UInt8] {
        start()
        var bytes = [UInt8](repeating: 0, count: count)
        bytes.withMutablePointer { unsafe randombytes_buf($0, count) }
        return bytes
    }
}

// libsodium declares its pointers non-null, also where a length of 0 means that none is followed.

extension Span where Element == UInt8 {
    @safe func withPointer<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
        unsafe withUnsafeBufferPointer { buffer in
            unsafe body(buffer.baseAddress ?? UnsafePointer(nothing))
        }
    }
}

extension Array where Element == UInt8 {
    @safe func withPointer<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
        span.withPointer(body)
    }

    @safe mutating func withMutablePointer<Result>(
        _ body: (UnsafeMutablePointer<UInt8>) -> Result
    ) -> Result {
        unsafe withUnsafeMutableBufferPointer { buffer in
            unsafe body(buffer.baseAddress ?? nothing)
        }
    }
}

extension MutableSpan where Element == UInt8 {
    @safe mutating func withMutablePointer<Result>(
        _ body: (UnsafeMutablePointer<UInt8>) -> Result
    ) -> Result {
        unsafe withUnsafeMutableBufferPointer { buffer in
            unsafe body(buffer.baseAddress ?? nothing)
        }
    }
}

/// A pointer that is not null and not to be followed.
private var nothing: UnsafeMutablePointer<UInt8> {
    guard let pointer = unsafe UnsafeMutablePointer<UInt8>(bitPattern: 1)
    else { preconditionFailure("address 1 is not null") }
    return unsafe pointer
}
