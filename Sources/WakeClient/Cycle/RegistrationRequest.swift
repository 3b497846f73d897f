import WakeFetch
import WakeModel

/// The three requests that carry the instance token. From outside they have one size: a `PUT` body
/// is padded to one length, and a `Padding` field makes up for what the others lack.
enum RegistrationRequest {
    static func put(
        _ token: WakeModel.PushToken, by instance: InstanceToken, at url: FetchURL
    ) -> FetchRequest {
        FetchRequest(
            url, method: .put,
            fields: [
                authorization(instance), FetchField("Content-Type", "application/json"),
            ],
            body: RegistrationBody.encode(token), limit: 4096, purpose: .registration)
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

    /// What a `PUT` has beyond the others: two fields and a body.
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
