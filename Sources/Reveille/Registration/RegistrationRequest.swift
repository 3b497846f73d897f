import WakeFetch
import WakeModel

/// The requests that carry the instance token (Policy/PROTOCOL.md). From outside they have
/// one size: a `PUT` body is padded to one length, and a `Padding` field fills the others up.
enum RegistrationRequest {
    static func put(
        _ token: PushToken, proof: RegistrationProof? = nil, by instance: InstanceToken,
        at url: FetchURL
    ) -> FetchRequest {
        let type = FetchField("Content-Type", "application/json")
        return FetchRequest(
            url, method: .put, fields: [authorization(instance), type],
            body: RegistrationBody.encode(token, proof: proof), limit: 4096, purpose: .registration)
    }

    static func delete(by instance: InstanceToken, at url: FetchURL) -> FetchRequest {
        FetchRequest(
            url, method: .delete,
            // `DELETE` is three characters longer than `PUT`.
            fields: [authorization(instance), padding(putExcess - 3)],
            limit: 4096, purpose: .registration)
    }

    static func get(by instance: InstanceToken, at url: FetchURL) -> FetchRequest {
        FetchRequest(
            url, method: .get, fields: [authorization(instance), padding(putExcess)],
            limit: Limits.registrationAnswerBytes * 2, purpose: .registration)
    }

    static func testPush(by instance: InstanceToken, at url: FetchURL) -> FetchRequest {
        FetchRequest(
            url, method: .post,
            // `POST` and its path are six characters longer; libcurl names the length of no body.
            fields: [
                authorization(instance),
                padding(putExcess - 1 - "/wake".utf8.count - "Content-Length: 0\r\n".utf8.count),
            ],
            body: [], limit: 4096, purpose: .registration)
    }

    /// Bytes that a `PUT` has beyond the others: two fields and a body.
    private static let putExcess =
        "Content-Type: application/json\r\n".utf8.count + "Content-Length: \r\n".utf8.count
        + String(Limits.paddedBodyBytes).utf8.count + Limits.paddedBodyBytes

    private static func padding(_ count: Int) -> FetchField {
        let value = count - "Padding: \r\n".utf8.count
        return FetchField("Padding", [UInt8](repeating: UInt8(ascii: "0"), count: value))
    }

    private static func authorization(_ instance: InstanceToken) -> FetchField {
        instance.text().withSpan { text in
            var value = Array("Bearer ".utf8)
            for index in text.indices { value.append(text[index]) }
            return FetchField("Authorization", value)
        }
    }
}

extension HeldRegistration {
    /// - Throws: `protocolViolation` for an answer that cannot be decoded.
    init(
        of instance: InstanceToken, at url: FetchURL, through transport: any ClientTransport
    ) async throws(ClientError) {
        let request = RegistrationRequest.get(by: instance, at: url)
        let bytes = try await transport.body(of: request).bytes
        do {
            self.init(try RegistrationResponse.decode(bytes))
        } catch {
            throw .protocolViolation
        }
    }
}
