import WakeSystem

/// A body of `messages:send`, held against what FCM documents (firebase.google.com,
/// projects.messages) and what this project promises: data only, always the same.
struct FCMMessage {
    /// `token`, `fid` or `topic`.
    let field: String
    /// Its value.
    let target: String
    /// All but the push token and the lifetime.
    let constant: [String]

    /// What a body does wrong.
    struct Fault: Error {
        let word: String
        let field: String

        init(_ word: String, _ field: String) {
            self.word = word
            self.field = field
        }
    }

    /// Four weeks.
    private static let longestLifetime = 2_419_200

    init(_ body: [UInt8], _ options: FCMOptions) throws(Fault) {
        guard let document = JSONValue(body)?.members else { throw Fault("json", "body") }
        guard document.count == 1, let message = document["message"]?.members else {
            throw Fault("message", "message")
        }
        let fields = ["token", "fid", "topic"].filter { message[$0] != nil }
        guard let field = fields.first, fields.count == 1 else {
            throw Fault("recipient", "message")
        }
        guard let target = message[field]?.string, !target.isEmpty, target.utf8.count <= 4096,
            field != "topic" || target.utf8.allSatisfy(Self.isTopic)
        else { throw Fault(field, "message.\(field)") }
        guard Set(message.keys) == ["data", "android", field] else {
            throw Fault("not-promised", "message")
        }
        self.field = field
        self.target = target
        let data = try Self.data(message["data"], options)
        constant = data + [try Self.android(message["android"], options)]
    }

    /// "Send messages to topics": `[a-zA-Z0-9-_.~%]+`, without `/topics/` in the v1 API.
    private static func isTopic(_ byte: UInt8) -> Bool {
        byte.isAlphanumeric || "-_.~%".utf8.contains(byte)
    }

    /// One key, which is not reserved ("Message.data"), with text.
    private static func data(
        _ value: JSONValue?, _ options: FCMOptions
    ) throws(Fault) -> [String] {
        guard let data = value?.members, data.count == 1, let member = data.first,
            let text = member.value.string
        else { throw Fault("data", "message.data") }
        let key = member.key
        guard key != "from", key != "message_type", !key.hasPrefix("google"), !key.hasPrefix("gcm")
        else { throw Fault("data-key-reserved", "message.data") }
        guard options.dataKey == nil || options.dataKey == key else {
            throw Fault("data-key", "message.data")
        }
        return [key, text]
    }

    /// - Returns: the collapse key.
    private static func android(
        _ value: JSONValue?, _ options: FCMOptions
    ) throws(Fault) -> String {
        guard let android = value?.members else { throw Fault("android", "message.android") }
        // HIGH without anything to show is put back; in lower case it is no name of the enum.
        guard android["priority"]?.string == "NORMAL" else {
            throw Fault("priority", "message.android.priority")
        }
        guard let seconds = android["ttl"]?.string.flatMap(Self.seconds),
            (1...longestLifetime).contains(seconds),
            options.lifetime < 0 || options.lifetime == seconds
        else { throw Fault("ttl", "message.android.ttl") }
        guard let collapse = android["collapse_key"]?.string, !collapse.isEmpty,
            options.collapseKey == nil || options.collapseKey == collapse
        else { throw Fault("collapse-key", "message.android.collapse_key") }
        guard android.count == 3 else { throw Fault("not-promised", "message.android") }
        return collapse
    }

    /// A Duration of JSON: seconds with an `s` (protobuf.dev, ProtoJSON); whole ones here.
    private static func seconds(_ text: String) -> Int? {
        guard text.hasSuffix("s"), text.count <= 12 else { return nil }
        let digits = text.dropLast()
        return digits.allSatisfy { $0.isASCII && $0.isNumber } ? Int(digits) : nil
    }
}
