/// One fetch on its way to the fetch thread: what to do, and whom to tell.
struct FetchJob: Sendable {
    let id: UInt64
    let request: FetchRequest
    let ticket: FetchTicket
    let onHead: @Sendable (FetchResponse) -> FetchVerdict
    let sink: @Sendable (Span<UInt8>) -> FetchVerdict
    let onEnd: @Sendable (Result<FetchResponse, FetchError>) -> Void

    func finish(_ result: Result<FetchResponse, FetchError>) {
        onEnd(result)
    }
}
