package import WakeFetch

/// Carries requests: libcurl in life, a simulated network in tests.
package protocol ClientTransport: Sendable {
    /// As `Fetcher.fetch`.
    func fetch(
        _ request: FetchRequest,
        onHead: @escaping @Sendable (FetchResponse) -> FetchVerdict,
        sink: @escaping @Sendable (Span<UInt8>) -> FetchVerdict
    ) async throws(FetchError) -> FetchResponse
}

extension Fetcher: ClientTransport {}
