import WakeFetch
import WakeModel
import WakeSystem

/// A carrier of registrations that shows no address: requests to the service are encapsulated for
/// its gateway (RFC 9458) and go to a relay, which cannot read them. There is no other way: what
/// cannot go so is not sent.
struct ObliviousTransport: ClientTransport {
    private let relay: FetchURL
    /// The one address that requests are for.
    private let target: FetchURL
    private let keys: GatewayKeys
    private let transport: any ClientTransport

    fileprivate init(
        _ relay: FetchURL, for target: FetchURL, _ keys: GatewayKeys,
        over transport: any ClientTransport
    ) {
        (self.relay, self.target, self.keys, self.transport) = (relay, target, keys, transport)
    }

    func fetch(
        _ request: FetchRequest,
        onHead: @escaping @Sendable (FetchResponse) -> FetchVerdict,
        sink: @escaping @Sendable (Span<UInt8>) -> FetchVerdict
    ) async throws(FetchError) -> FetchResponse {
        // A service of an earlier configuration has another gateway.
        guard request.url == target else { throw .addressRefused }
        let key = try await keys.current(through: transport)
        guard var message = Self.message(request) else { throw .tooLarge }
        defer { message.wipe() }
        guard let encapsulated = ObliviousRequest(message, to: key) else { throw .keyRefused }
        let bytes = try await encapsulatedAnswer(to: envelope(encapsulated, of: request))
        guard var opened = encapsulated.response.open(bytes) else {
            throw .notEncapsulated(status: 200, retryAfter: nil)
        }
        defer { opened.wipe() }
        return try Self.deliver(opened, of: request, onHead, sink)
    }

    /// - Throws: `keyRefused` when the gateway does not know the key, `notEncapsulated` for every
    ///   other answer that is not encapsulated: a relay can say anything, and nothing of that is an
    ///   answer of the service.
    private func encapsulatedAnswer(
        to envelope: FetchRequest
    ) async throws(FetchError) -> [UInt8] {
        let (bytes, outer): ([UInt8], FetchResponse)
        do throws(FetchError) {
            (bytes, outer) = try await transport.answer(to: envelope)
        } catch {
            throw error == .tooLarge ? .notEncapsulated(status: 200, retryAfter: nil) : error
        }
        switch (outer.status, outer.contentType) {
        case (200, .obliviousResponse): return bytes
        case (400, .problem):
            // RFC 9458 §5.3: perhaps the key is out of date.
            keys.forget()
            throw .keyRefused
        default: throw .notEncapsulated(status: outer.status, retryAfter: outer.retryAfter)
        }
    }

    func quiesce(_ purpose: FetchPurpose) async { await transport.quiesce(purpose) }

    /// The request to the relay; the same for all but for what nobody on the way can read.
    private func envelope(_ encapsulated: ObliviousRequest, of request: FetchRequest)
        -> FetchRequest
    {
        FetchRequest(
            relay, method: .post,
            fields: [FetchField("Content-Type", ObliviousRequest.mediaType)],
            body: encapsulated.bytes, limit: 2 * Limits.obliviousAnswerBytes,
            timeout: request.timeout, purpose: request.purpose)
    }

    /// The binary request (RFC 9292), padded to the one length.
    private static func message(_ request: FetchRequest) -> [UInt8]? {
        let method: StaticString =
            switch request.method {
            case .get: "GET"
            case .put: "PUT"
            case .post: "POST"
            case .delete: "DELETE"
            }
        let authority = request.url.bytes.dropFirst(request.url.scheme.rawValue.utf8.count + 3)
            .prefix { $0 != UInt8(ascii: "/") }
        var writer = BinaryMessageWriter(
            method: method, scheme: request.url.scheme == .https ? "https" : "http",
            authority: Array(authority), path: "/v1/registration",
            capacity: Limits.obliviousRequestBytes)
        for field in request.fields {
            // The padding of plain requests.
            let name = Array(field.name.lowercased().utf8)
            if name.span.equals("padding") { continue }
            writer.add(name.span, field.value.span)
        }
        let body = request.body ?? []
        return writer.finish(content: body.span, paddedTo: Limits.obliviousRequestBytes)
    }

    /// Gives what was inside as a transport gives a response.
    private static func deliver(
        _ bytes: [UInt8], of request: FetchRequest,
        _ onHead: (FetchResponse) -> FetchVerdict, _ sink: (Span<UInt8>) -> FetchVerdict
    ) throws(FetchError) -> FetchResponse {
        let message: BinaryMessage
        do throws(BinaryMessageError) {
            message = try BinaryMessage(bytes)
        } catch { throw .protocolViolation }
        guard case .response(let status) = message.control else { throw .protocolViolation }
        let wait = message.onlyValue(of: "retry-after", in: bytes.span)
            .flatMap { Int(String(decoding: bytes[$0], as: UTF8.self)) }
        let response = FetchResponse(status: Int(status), retryAfter: wait.map { max(0, $0) })
        var content = message.content(in: bytes.span)
        defer { content.wipe() }
        guard content.count <= request.limit else { throw .tooLarge }
        guard onHead(response) == .proceed, content.isEmpty || sink(content.span) == .proceed
        else { throw .stopped }
        return response
    }
}

extension ServiceAddresses {
    /// What carries requests with an instance token: where a relay is configured, that way alone.
    func carrier(
        _ keys: GatewayKeys?, over transport: any ClientTransport
    ) throws(ClientError) -> any ClientTransport {
        guard let relay else { return transport }
        guard let registration, let keys else { throw .configuration(.obliviousURL) }
        return ObliviousTransport(relay, for: registration, keys, over: transport)
    }
}
