internal import CCrypto

/// libsodium, where the program links it: then the types of this module call its functions. In any
/// other program, as in apps on phones, the types in `Plain` do the same in Swift, and tests hold
/// them against libsodium. CryptoKit would be a third implementation, which decides for itself what
/// a key and a signature are: a feed must be the same feed on every device.
enum LinkedLibrary {
    /// nil in a program without libsodium: the linker has decided.
    @inline(__always) static var functions: UnsafePointer<wake_crypto>? {
        unsafe wake_crypto_table()
    }
}

// C declares its pointers non-null, also where a length of 0 means that none is followed.

extension Span where Element == UInt8 {
    /// Lends the address of the bytes for the length of one call of C.
    @inlinable
    @safe package func withPointer<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
        unsafe withUnsafeBufferPointer { buffer in
            unsafe body(buffer.baseAddress ?? UnsafePointer(Self.nothing))
        }
    }

    /// A pointer that is not null and not to be followed.
    @usableFromInline
    package static var nothing: UnsafeMutablePointer<UInt8> {
        guard let pointer = unsafe UnsafeMutablePointer<UInt8>(bitPattern: 1)
        else { preconditionFailure("address 1 is not null") }
        return unsafe pointer
    }
}

extension Array where Element == UInt8 {
    /// Lends the address of the bytes for the length of one call of C.
    @inlinable
    @safe package func withPointer<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
        unsafe withUnsafeBufferPointer { buffer in
            unsafe body(buffer.baseAddress ?? UnsafePointer(Span<UInt8>.nothing))
        }
    }

    /// Lends the address of the bytes for the length of one call of C.
    @inlinable
    @safe package mutating func withMutablePointer<Result>(
        _ body: (UnsafeMutablePointer<UInt8>) -> Result
    ) -> Result {
        unsafe withUnsafeMutableBufferPointer { buffer in
            unsafe body(buffer.baseAddress ?? Span<UInt8>.nothing)
        }
    }
}

extension MutableSpan where Element == UInt8 {
    /// Lends the address of the bytes for the length of one call of C.
    @inlinable
    @safe package mutating func withMutablePointer<Result>(
        _ body: (UnsafeMutablePointer<UInt8>) -> Result
    ) -> Result {
        unsafe withUnsafeMutableBufferPointer { buffer in
            unsafe body(buffer.baseAddress ?? Span<UInt8>.nothing)
        }
    }
}
