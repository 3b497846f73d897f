import CRuntime

/// A multi handle: the connections and DNS cache of one purpose. Only its thread uses it.
@safe
final class CurlMulti {
    private let curl: Curl
    private let handle: UnsafeMutableRawPointer

    /// nil when out of memory. How many connections there are at once is up to ``FetchQueue``: a
    /// bound set here would make libcurl queue for it.
    init?(_ curl: Curl, keeping connections: Int) {
        guard let handle = unsafe crt_curl_multi_init(curl.library) else { return nil }
        self.curl = curl
        unsafe self.handle = unsafe handle
        unsafe crt_curl_multi_set_long(
            curl.library, handle, CURLMOPT_MAXCONNECTS, connections)
        // The default since 7.62; here because HTTP/2 depends on it.
        unsafe crt_curl_multi_set_long(
            curl.library, handle, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX)
    }

    deinit {
        unsafe crt_curl_multi_cleanup(curl.library, handle)
    }

    /// For other threads, which must not use it after this object is gone.
    var waker: CurlWaker { unsafe CurlWaker(curl, multi: handle) }

    func add(_ easy: CurlEasy) -> Bool {
        unsafe crt_curl_multi_add(curl.library, handle, easy.handle) == 0
    }

    func remove(_ easy: CurlEasy) {
        unsafe crt_curl_multi_remove(curl.library, handle, easy.handle)
    }

    /// Does what can be done without waiting; calls the receivers of the transfers.
    func perform() {
        unsafe crt_curl_multi_perform(curl.library, handle)
    }

    /// Waits for traffic, a timer of libcurl's, a wake-up, or so long.
    func wait(_ time: Duration) {
        let (seconds, attoseconds) = time.components
        // Rounded up: waking a moment early would spin.
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1
        unsafe crt_curl_multi_poll(
            curl.library, handle, Int32(clamping: max(0, milliseconds)))
    }

    /// A transfer that has ended since the last call: its tag and libcurl's code.
    func nextEnded() -> (tag: UInt, code: Int32)? {
        var tag: UInt = 0
        var code: Int32 = 0
        guard unsafe crt_curl_multi_next_ended(curl.library, handle, &tag, &code) else {
            return nil
        }
        return (tag, code)
    }
}
