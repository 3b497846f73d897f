import CRuntime

extension FetchError {
    /// What a code of libcurl-errors(3) means to a caller. `hasHead`: whether the head of the
    /// final response had come.
    init(code: Int32, hasHead: Bool) {
        switch Int(code) {
        case CURLE_OPERATION_TIMEDOUT:
            self = .timeout
        case CURLE_PARTIAL_FILE:
            self = .truncated
        case CURLE_RECV_ERROR where hasHead:
            // A reset, or a TLS connection that ended without saying so: the body is short.
            self = .truncated
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED,
            CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_PEER_FAILED_VERIFICATION,
            CURLE_USE_SSL_FAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT:
            self = .tls(code: code)
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2,
            CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2_STREAM:
            // 1 also stands for an HTTP/0.9 answer (CURLOPT_HTTP09_ALLOWED(3)).
            self = .protocolViolation
        case CURLE_URL_MALFORMAT:
            self = .invalidURL
        case CURLE_OUT_OF_MEMORY, CURLE_TOO_LARGE:
            // What libcurl says, before and since 8.6, of a head line beyond its own bound. Linux
            // overcommits: a real lack of memory does not come as a return code.
            self = .protocolViolation
        default:
            self = .network(code: code)
        }
    }
}
