/// What every transfer of one fetcher needs to know.
struct FetchSettings: Sendable {
    let curl: Curl
    let configuration: FetchConfiguration

    /// Throws `libraryMissing`.
    init(_ configuration: FetchConfiguration) throws(FetchError) {
        self.configuration = configuration
        curl = try Curl(named: configuration.libraryName)
    }

    /// What can be refused before a thread hears of it.
    func check(_ request: FetchRequest) throws(FetchError) {
        let url = request.url
        if url.scheme == .http, url.reach == .loopback, !configuration.allowLoopbackHTTP {
            throw .invalidURL
        }
        if url.reach == .onion, configuration.proxy == nil { throw .onionWithoutProxy }
        // A proxy connects to wherever it likes.
        if request.pin != nil, configuration.proxy != nil { throw .addressRefused }
        guard request.fields.allSatisfy(\.isValid) else { throw .invalidField }
    }
}
