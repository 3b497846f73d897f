import WakePush

/// One request as far as it has come: what its fields deserve, and its body so far.
struct OpenRequest {
    var token: PushTokenBytes?
    /// The first fault found in the fields; nil when they are as they must be.
    var refusal: Answer?
    var bodyMatches = 0
    var bodyCount = 0
    var receiveWindow: Int
}

/// Holds requests against what APNs asks for and this project promises (push.md: one constant
/// shape, an empty payload).
struct RequestCheck {
    private static let body = Array(#"{"aps":{"content-available":1}}"#.utf8)
    private static let pathPrefix = Array("/3/device/".utf8)

    private let topic: [UInt8]?
    private var tokens: TokenCheck
    /// How many requests carried each field: few names, found by looking.
    private var names: [(name: [UInt8], count: Int)] = []

    init(_ options: Options) throws {
        topic = options.topic.map { Array($0.utf8) }
        tokens = try TokenCheck(options)
    }

    var providerTokens: Int { tokens.distinct }

    var fields: [[UInt8]: Int] {
        Dictionary(names.map { ($0.name, $0.count) }, uniquingKeysWith: +)
    }

    /// What the fields of a request deserve.
    mutating func open(_ list: HeaderList, now: Int, window: Int) -> OpenRequest {
        var request = OpenRequest(receiveWindow: window)
        var (method, path, authorization) = (
            ArraySlice<UInt8>(), ArraySlice<UInt8>(), ArraySlice<UInt8>()
        )
        var (type, priority, topic, expiration) = (
            ArraySlice<UInt8>(), ArraySlice<UInt8>(), ArraySlice<UInt8>(), ArraySlice<UInt8>()
        )
        for index in 0..<list.count {
            let name = list.name(index)
            count(name)
            let value = list.value(index)
            if name.elementsEqual(Name.authorization) {
                authorization = value
            } else if name.elementsEqual(Name.path) {
                path = value
            } else if name.elementsEqual(Name.method) {
                method = value
            } else if name.elementsEqual(Name.type) {
                type = value
            } else if name.elementsEqual(Name.priority) {
                priority = value
            } else if name.elementsEqual(Name.topic) {
                topic = value
            } else if name.elementsEqual(Name.expiration) {
                expiration = value
            }
        }
        if path.starts(with: Self.pathPrefix) {
            request.token = PushTokenBytes(hex: path.dropFirst(Self.pathPrefix.count))
        }
        request.refusal = refusal(method, path, request.token)
        if request.refusal == nil {
            request.refusal = refusal(authorization, topic: topic, now)
        }
        if request.refusal == nil {
            request.refusal = refusal(type, priority, expiration, now)
        }
        return request
    }

    /// Takes a part of the body.
    func take(_ bytes: Span<UInt8>, into request: inout OpenRequest) {
        for index in bytes.indices {
            let place = request.bodyCount
            if place < Self.body.count, bytes[index] == Self.body[place] {
                request.bodyMatches += 1
            }
            request.bodyCount += 1
        }
    }

    /// What a whole request deserves, or nil when it is to be delivered.
    func refusal(of request: OpenRequest) -> Answer? {
        if let refusal = request.refusal { return refusal }
        if request.bodyCount == 0 { return Answer(status: 400, reason: "PayloadEmpty") }
        if request.bodyCount > 4096 { return Answer(status: 413, reason: "PayloadTooLarge") }
        guard request.bodyCount == Self.body.count, request.bodyMatches == Self.body.count else {
            return Answer(status: 400, reason: "PayloadNotConstant")
        }
        return nil
    }

    private func refusal(
        _ method: ArraySlice<UInt8>, _ path: ArraySlice<UInt8>, _ token: PushTokenBytes?
    ) -> Answer? {
        guard method.elementsEqual("POST".utf8) else {
            return Answer(status: 405, reason: "MethodNotAllowed")
        }
        guard path.starts(with: Self.pathPrefix) else {
            return Answer(status: 404, reason: "BadPath")
        }
        return token == nil ? Answer(status: 400, reason: "BadDeviceToken") : nil
    }

    private mutating func refusal(
        _ authorization: ArraySlice<UInt8>, topic: ArraySlice<UInt8>, _ now: Int
    ) -> Answer? {
        if case .refused(let status, let reason) = tokens.check(authorization, now: now) {
            return Answer(status: status, reason: reason)
        }
        if topic.isEmpty { return Answer(status: 400, reason: "MissingTopic") }
        if let expected = self.topic, !topic.elementsEqual(expected) {
            return Answer(status: 400, reason: "TopicDisallowed")
        }
        return nil
    }

    private func refusal(
        _ type: ArraySlice<UInt8>, _ priority: ArraySlice<UInt8>,
        _ expiration: ArraySlice<UInt8>, _ now: Int
    ) -> Answer? {
        guard type.elementsEqual("background".utf8) else {
            return Answer(status: 400, reason: "InvalidPushType")
        }
        // Apple: a background push must have priority 5.
        guard priority.elementsEqual("5".utf8) else {
            return Answer(status: 400, reason: "BadPriority")
        }
        // Always set, or devices that are off now never hear of it.
        let seconds = Int(String(decoding: expiration, as: UTF8.self)) ?? 0
        return seconds > now ? nil : Answer(status: 400, reason: "BadExpirationDate")
    }

    private mutating func count(_ name: ArraySlice<UInt8>) {
        for index in names.indices where name.elementsEqual(names[index].name) {
            names[index].count += 1
            return
        }
        if names.count < 100 { names.append((Array(name), 1)) }
    }

    private enum Name {
        static let authorization = Array("authorization".utf8)
        static let path = Array(":path".utf8)
        static let method = Array(":method".utf8)
        static let type = Array("apns-push-type".utf8)
        static let priority = Array("apns-priority".utf8)
        static let topic = Array("apns-topic".utf8)
        static let expiration = Array("apns-expiration".utf8)
    }
}
