import CRuntime

@safe
struct Curl: Sendable {
    private static let usualName = "libcurl.so.4"

    let library: crt_curl
    private let name: String

    /// - Parameter name: a file name for the loader; nil is the usual one.
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
        if let reason { throw .libraryMissing(missing(reason)) }
    }

    /// Whether streams need a ``StallDetector``. HTTP/2 was rewritten in 8.1.0.
    var forgetsStreams: Bool { unsafe crt_curl_version(library) < 0x080100 }

    func missing(_ reason: MissingLibrary.Reason) -> MissingLibrary {
        MissingLibrary(name: name, package: "libcurl4", reason: reason)
    }
}

/// The one operation on a multi handle that is open to other threads, while it lives.
@safe
struct CurlWaker: Sendable {
    private let waker: crt_curl_waker

    init(_ curl: Curl, multi: UnsafeMutableRawPointer) {
        unsafe waker = unsafe crt_curl_waker(curl: curl.library, multi: multi)
    }

    /// Ends the wait of the handle's thread, now or when it next begins.
    func wake() { _ = unsafe crt_curl_wake(waker) }
}

/// A multi handle: the connections and DNS cache of one purpose. Only its thread uses it.
@safe
final class CurlMulti {
    private let curl: Curl
    private let handle: UnsafeMutableRawPointer

    /// nil when out of memory. The bound on connections is ``FetchQueue``'s.
    init?(_ curl: Curl, keeping connections: Int) {
        guard let handle = unsafe crt_curl_multi_init(curl.library) else { return nil }
        self.curl = curl
        unsafe self.handle = unsafe handle
        unsafe crt_curl_multi_set_long(curl.library, handle, CURLMOPT_MAXCONNECTS, connections)
        // The default since 7.62; here because HTTP/2 depends on it.
        unsafe crt_curl_multi_set_long(
            curl.library, handle, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX)
    }

    deinit { unsafe crt_curl_multi_cleanup(curl.library, handle) }

    /// For other threads, which must not use it after this object is gone.
    var waker: CurlWaker { unsafe CurlWaker(curl, multi: handle) }

    func add(_ easy: CurlEasy) -> Bool {
        unsafe crt_curl_multi_add(curl.library, handle, easy.handle) == 0
    }

    func remove(_ easy: CurlEasy) {
        unsafe crt_curl_multi_remove(curl.library, handle, easy.handle)
    }

    /// Reads and writes without waiting; calls the receivers of the transfers.
    func perform() { unsafe crt_curl_multi_perform(curl.library, handle) }

    /// Waits for traffic, a timer of libcurl's, a wake-up, or the given time.
    func wait(_ time: Duration) {
        let (seconds, attoseconds) = time.components
        // Rounded up: a wait that ends early would spin.
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1
        unsafe crt_curl_multi_poll(curl.library, handle, Int32(clamping: max(0, milliseconds)))
    }

    /// Leaves fewer bytes than these to the kernel until more come.
    func wait(forBytes count: Int32) {
        unsafe crt_curl_multi_wait_for_bytes(curl.library, handle, count)
    }

    /// The next transfer that ended: its tag and libcurl's code.
    func nextEnded() -> (tag: UInt, code: Int32)? {
        var tag: UInt = 0
        var code: Int32 = 0
        let found = unsafe crt_curl_multi_next_ended(curl.library, handle, &tag, &code)
        return found ? (tag, code) : nil
    }
}

extension FetchError {
    /// The error for a code of libcurl-errors(3), before or after the final response's head.
    init(code: Int32, hasHead: Bool, certificate: Int) {
        switch Int(code) {
        case CURLE_OPERATION_TIMEDOUT: self = .timeout
        case CURLE_PARTIAL_FILE: self = .truncated
        case CURLE_RECV_ERROR where hasHead:
            // A reset, or a TLS connection that ended without saying so: the body is short.
            self = .truncated
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
            CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_PEER_FAILED_VERIFICATION,
            CURLE_USE_SSL_FAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT:
            self = .tls(code: code, certificate: certificate)
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2,
            CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2_STREAM:
            // 1 also stands for an HTTP/0.9 answer (CURLOPT_HTTP09_ALLOWED(3)).
            self = .protocolViolation
        case CURLE_URL_MALFORMAT: self = .invalidURL
        case CURLE_OUT_OF_MEMORY, CURLE_TOO_LARGE:
            // A head line beyond libcurl's own bound, before and since 8.6; on Linux, which
            // overcommits, a lack of memory has no return code.
            self = .protocolViolation
        default: self = .network(code: code)
        }
    }
}
