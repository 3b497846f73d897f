import CRuntime

/// A loaded libcurl, for every thread.
@safe
struct Curl: Sendable {
    /// The file name of the library that is loaded unless another is named.
    private static let usualName = "libcurl.so.4"

    let library: crt_curl
    private let name: String

    /// Throws `libraryMissing`. `name` is a file name for the loader; nil looks for the usual one.
    init(named name: String?) throws(FetchError) {
        var library = unsafe crt_curl(table: nil)
        let status =
            if let name {
                unsafe name.withCString { unsafe crt_curl_load($0, &library) }
            } else {
                unsafe crt_curl_load(nil, &library)
            }
        let reason: MissingLibrary.Reason? =
            switch status {
            case CRT_LOADED: nil
            case CRT_NOT_FOUND: .notFound
            case CRT_FUNCTION_MISSING: .functionMissing
            case CRT_TOO_OLD: .tooOld
            case CRT_UNFIT: .unfit
            default: .notInitialised
            }
        self.name = name ?? Self.usualName
        unsafe self.library = unsafe library
        if let reason { throw .libraryMissing(lacking(reason)) }
    }

    /// Whether streams of a shared connection have to be watched, see ``StallWatch``. HTTP/2 was
    /// rewritten in 8.1.0.
    var forgetsStreams: Bool { unsafe crt_curl_version(library) < 0x080100 }

    func lacking(_ reason: MissingLibrary.Reason) -> MissingLibrary {
        MissingLibrary(name: name, package: "libcurl4", reason: reason)
    }
}

/// What other threads may do with a multi handle, and only while it lives.
@safe
struct CurlWaker: Sendable {
    private let waker: crt_curl_waker

    init(_ curl: Curl, multi: UnsafeMutableRawPointer) {
        unsafe waker = unsafe crt_curl_waker(curl: curl.library, multi: multi)
    }

    /// Ends the wait of the handle's thread, now or when it next begins.
    func wake() {
        _ = unsafe crt_curl_wake(waker)
    }
}
