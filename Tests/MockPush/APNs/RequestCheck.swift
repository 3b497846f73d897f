import WakePush

/// One request as far as it has come: what its fields deserve, and its body so far.
struct OpenRequest {
    var token: PushTokenBytes?
    /// The first fault found in the fields; nil when they are as they must be.
    var refusal: Refusal?
    var bodyMatches = 0
    var bodyCount = 0
    /// What the client may still send in DATA.
    var receiveWindow: Int
    /// Which fields it holds.
    var profile = 0
}

/// Holds requests against what APNs asks for and this project promises (push.md: one constant
/// shape, an empty payload).
final class RequestCheck {
    private static let body = Array(#"{"aps":{"content-available":1}}"#.utf8)
    private static let pathPrefix = Array("/3/device/".utf8)

    private let topic: [UInt8]?
    private var tokens: TokenCheck
    /// Sets of field names that were seen together, and how often: few, found by looking.
    private var profiles: [(names: [[UInt8]], count: Int)] = []
    private static let mostProfiles = 100

    init(_ options: Options) throws {
        topic = options.topic.map { Array($0.utf8) }
        tokens = try TokenCheck(options)
    }

    var providerTokens: Int { tokens.distinct }

    /// How many requests carried each field.
    var fields: [[UInt8]: Int] {
        var counts: [[UInt8]: Int] = [:]
        for profile in profiles {
            for name in profile.names { counts[name, default: 0] += profile.count }
        }
        return counts
    }

    /// A request with the fields of one that deserved to be delivered, in the same second.
    func openAgain(_ profile: Int, _ token: TokenWords, window: Int) -> OpenRequest {
        profiles[profile].count += 1
        return OpenRequest(token: PushTokenBytes(token), receiveWindow: window, profile: profile)
    }

    /// What the fields of a request deserve.
    func open(_ list: HeaderList, now: Int, window: Int) -> OpenRequest {
        var request = OpenRequest(receiveWindow: window)
        request.profile = saw(list)
        var (method, path, authorization) = (
            ArraySlice<UInt8>(), ArraySlice<UInt8>(), ArraySlice<UInt8>()
        )
        var (type, priority, topic, expiration) = (
            ArraySlice<UInt8>(), ArraySlice<UInt8>(), ArraySlice<UInt8>(), ArraySlice<UInt8>()
        )
        for index in 0..<list.count {
            let name = list.name(index)
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
        if request.bodyCount == 0, bytes.count == Self.body.count,
            Bytes.same(bytes, Self.body, 0..<bytes.count)
        {
            request.bodyMatches = bytes.count
            request.bodyCount = bytes.count
            return
        }
        for index in bytes.indices {
            let place = request.bodyCount
            if place < Self.body.count, bytes[index] == Self.body[place] {
                request.bodyMatches += 1
            }
            request.bodyCount += 1
        }
    }

    /// What a whole request deserves, or nil when it is to be delivered.
    func refusal(of request: OpenRequest) -> Refusal? {
        if let refusal = request.refusal { return refusal }
        if request.bodyCount == 0 { return .payloadEmpty }
        if request.bodyCount > 4096 { return .payloadTooLarge }
        guard request.bodyCount == Self.body.count, request.bodyMatches == Self.body.count else {
            return .payloadNotConstant
        }
        return nil
    }

    private func refusal(
        _ method: ArraySlice<UInt8>, _ path: ArraySlice<UInt8>, _ token: PushTokenBytes?
    ) -> Refusal? {
        guard method.elementsEqual("POST".utf8) else { return .methodNotAllowed }
        guard path.starts(with: Self.pathPrefix) else { return .badPath }
        return token == nil ? .badDeviceToken : nil
    }

    private func refusal(
        _ authorization: ArraySlice<UInt8>, topic: ArraySlice<UInt8>, _ now: Int
    ) -> Refusal? {
        if let refusal = tokens.check(authorization, now: now) { return refusal }
        if topic.isEmpty { return .missingTopic }
        if let expected = self.topic, !topic.elementsEqual(expected) { return .topicDisallowed }
        return nil
    }

    private func refusal(
        _ type: ArraySlice<UInt8>, _ priority: ArraySlice<UInt8>,
        _ expiration: ArraySlice<UInt8>, _ now: Int
    ) -> Refusal? {
        guard type.elementsEqual("background".utf8) else { return .invalidPushType }
        // Apple: a background push must have priority 5.
        guard priority.elementsEqual("5".utf8) else { return .badPriority }
        // Always set, or devices that are off now never hear of it.
        let seconds = Int(String(decoding: expiration, as: UTF8.self)) ?? 0
        return seconds > now ? nil : .badExpirationDate
    }

    /// Counts the names of one request's fields.
    private func saw(_ list: HeaderList) -> Int {
        let known = profiles.firstIndex { profile in
            profile.names.count == list.count
                && profile.names.indices.allSatisfy {
                    list.name($0).elementsEqual(profile.names[$0])
                }
        }
        if let known {
            profiles[known].count += 1
            return known
        }
        // Far more than any honest client has: the rest counts as the last.
        if profiles.count == Self.mostProfiles { return profiles.count - 1 }
        profiles.append(((0..<list.count).map { Array(list.name($0)) }, 1))
        return profiles.count - 1
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
