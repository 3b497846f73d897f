import CRuntime
import WakeSystem

extension CurlEasy {
    /// Sets a request's options, and all defaults that could identify clients or lead elsewhere.
    func prepare(
        _ request: FetchRequest, _ attempt: FetchAttempt, _ configuration: FetchConfiguration
    ) {
        prepareConnection(request, configuration)
        prepareAttempt(request, attempt)
        prepareProxy(request.purpose, configuration.proxy)
        prepareMessage(request)
    }

    private func prepareConnection(_ request: FetchRequest, _ configuration: FetchConfiguration) {
        set(CURLOPT_URL, text: request.url.bytes)
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        // Bits, not CURLOPT_PROTOCOLS_STR(3): that came with 7.85.
        let allowed = request.url.scheme == .https ? CURLPROTO_HTTPS : CURLPROTO_HTTP
        set(CURLOPT_PROTOCOLS, allowed)
        set(CURLOPT_REDIR_PROTOCOLS, allowed)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        set(CURLOPT_HTTP09_ALLOWED, 0)
        set(CURLOPT_NETRC, CURL_NETRC_IGNORED)
        keepSocketsFromChildren()
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_NOPROGRESS, 1)
        // Else an abort waits for getaddrinfo(3) to return; since 7.87.
        set(CURLOPT_QUICK_EXIT, 1, tolerating: CURLE_UNKNOWN_OPTION)
        set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        // A resumed session would tell the server who came back.
        set(CURLOPT_SSL_SESSIONID_CACHE, 0)
        if let file = configuration.caFile {
            set(CURLOPT_CAINFO, text: Array(file.utf8))
            // Else the system's directory would be trusted beside the file.
            set(CURLOPT_CAPATH, text: nil)
        }
    }

    private func prepareAttempt(_ request: FetchRequest, _ attempt: FetchAttempt) {
        set(CURLOPT_CONNECTTIMEOUT_MS, Self.milliseconds(attempt.connect))
        if let total = attempt.total { set(CURLOPT_TIMEOUT_MS, Self.milliseconds(total)) }
        if request.timeout.throughput.isIdle {
            // Long silences are usual: a far end that has gone shows otherwise only by them.
            set(CURLOPT_TCP_KEEPALIVE, 1)
            set(CURLOPT_TCP_KEEPIDLE, 60)
            set(CURLOPT_TCP_KEEPINTVL, 30)
        }
        if request.allowsHTTP2, request.url.scheme == .https {
            set(
                CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS, tolerating: CURLE_UNSUPPORTED_PROTOCOL
            )
        }
        if let socket = request.socket { set(CURLOPT_UNIX_SOCKET_PATH, text: Array(socket.utf8)) }
        if let pin = request.pin, let address = attempt.address {
            connect(only: address, port: pin.port)
        }
    }

    /// An empty text keeps libcurl from reading the environment (CURLOPT_PROXY(3)).
    private func prepareProxy(_ purpose: FetchPurpose, _ proxy: FetchProxy?) {
        set(CURLOPT_NOPROXY, text: "")
        guard let proxy else { return set(CURLOPT_PROXY, text: "") }
        set(CURLOPT_PROXY, text: Array("socks5h://\(proxy.host):\(proxy.port)".utf8))
        set(CURLOPT_SOCKS5_AUTH, CURLAUTH_BASIC)
        if let isolation = proxy.isolation {
            set(CURLOPT_PROXYUSERNAME, text: purpose.proxyUser)
            set(CURLOPT_PROXYPASSWORD, text: isolation)
        }
    }

    private func prepareMessage(_ request: FetchRequest) {
        set(CURLOPT_USERAGENT, text: FetchConfiguration.userAgent)
        // No Accept-Encoding is sent, and a body that is encoded all the same stays so.
        set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        set(CURLOPT_HTTPAUTH, CURLAUTH_NONE)
        switch request.method {
        case .get: set(CURLOPT_HTTPGET, 1)
        case let method:
            if method == .post { sendOnce() }
            set(CURLOPT_CUSTOMREQUEST, text: Array(method.rawValue.utf8))
        }
        // RFC 9110 §8.6: PUT and POST announce even an empty body.
        if let body = request.body ?? (request.method.announcesBody ? [] : nil) {
            set(body: body)
            // A name without value removes libcurl's own field (CURLOPT_HTTPHEADER(3)).
            append(line: Array("Expect:\0".utf8))
            if !request.fields.contains(where: \.isContentType) {
                append(line: Array("Content-Type:\0".utf8))
            }
        }
        if let first = request.range {
            let last = request.rangeEnd.map { String($0) } ?? ""
            append(line: Array("Range: bytes=\(first)-\(last)\0".utf8))
        }
        for field in request.fields { append(line: field.line()) }
        useLines()
    }

    /// Never 0, which means never or a default to libcurl.
    private static func milliseconds(_ time: Duration) -> Int {
        let (seconds, attoseconds) = time.components
        return max(1, Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
    }
}

extension FetchRequest.Method {
    fileprivate var announcesBody: Bool { self == .put || self == .post }
}

extension FetchField {
    fileprivate var isContentType: Bool { name.description.lowercased() == "content-type" }
}
