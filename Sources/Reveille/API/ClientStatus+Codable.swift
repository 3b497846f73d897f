import FoundationEssentials
import WakeFeed
import WakeSystem

/// The members of `StatusMembers`, in the same form: times in seconds since 1970.
extension ClientStatus: Codable {
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Writes every member; unknown ones as null.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        for (name, value) in members {
            let key = Key(stringValue: name)
            switch value {
            case .word(let word)?: try container.encode(word, forKey: key)
            case .number(let number)?: try container.encode(number, forKey: key)
            case .flag(let flag)?: try container.encode(flag, forKey: key)
            case nil: try container.encodeNil(forKey: key)
            }
        }
    }

    /// Reads members; those of a newer version are passed over. An error's numbers are not among
    /// them: an `httpStatus` has 0, and a fault of several kinds the most general one.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        func member<Value: Decodable>(_ name: String, _: Value.Type = Value.self) throws -> Value {
            try container.decode(Value.self, forKey: Key(stringValue: name))
        }
        func optional<Value: Decodable>(_ name: String) throws -> Value? {
            try container.decodeIfPresent(Value.self, forKey: Key(stringValue: name))
        }
        func time(_ name: String) throws -> Date? {
            let seconds: Int64? = try optional(name)
            return seconds.map(Date.init(seconds:))
        }
        func known<Value>(_ value: Value?, _ name: String) throws -> Value {
            guard let value else {
                throw DecodingError.dataCorruptedError(
                    forKey: Key(stringValue: name), in: container,
                    debugDescription: "not a value of this member")
            }
            return value
        }
        func error(_ name: String) throws -> ClientError? {
            guard let code: String = try optional(name) else { return nil }
            return try known(ClientError(code: code), name)
        }
        registration = try known(
            RegistrationState(name: member("registration"), failure: error("failure")),
            "registration")
        formerServices = try member("formerServices")
        sequence = try member("sequence")
        lastVerified = try time("lastVerified")
        lastChecked = try time("lastChecked")
        let bounds: (UInt64?, UInt64?) = try (
            optional("firstUnchecked"), optional("lastUnchecked")
        )
        if let first = bounds.0, let last = bounds.1, first <= last {
            unchecked = first...last
        } else {
            unchecked = nil
        }
        let text: String? = try optional("fingerprint")
        fingerprint = try text.map { try known(FeedFingerprint(text: $0), "fingerprint") }
        matchesToDeliver = try member("matchesToDeliver")
        pausedUntil = try time("pausedUntil")
        isRetired = try member("retired")
        isForked = try member("forked")
        sharesOrigin = try member("sharesOrigin")
        stream = try known(
            StreamState(name: member("stream"), status: optional("streamStatus")), "stream")
        let cut: Int64? = try optional("streamCutSeconds")
        streamCutAfter = cut.map { .seconds($0) }
        batchesWaiting = try member("batchesWaiting")
        waitingUntil = try time("waitingUntil")
        failure = try error("checkFailure")
        runningSince = try time("runningSince")
        nextCheck = try time("nextCheck")
    }
}

extension StreamState {
    fileprivate init?(name: String, status: Int?) {
        let all: [StreamState] = [.unused, .connecting, .connected, .waiting, .silent]
        if let state = all.first(where: { $0.name == name }) {
            self = state
        } else if name == StreamState.refused(status: 0).name {
            self = .refused(status: status ?? 0)
        } else {
            return nil
        }
    }
}

extension RegistrationState {
    fileprivate init?(name: String, failure: ClientError?) {
        let all: [RegistrationState] = [
            .none, .registered, .registering(failure: failure), .proving,
            .unregistering(failure: failure), .suspended,
        ]
        guard let state = all.first(where: { $0.name == name }) else { return nil }
        self = state
    }
}

extension ClientError {
    /// One error of each code.
    private static let examples: [ClientError] = [
        .network, .tls, .httpStatus(0, retryAfter: nil), .truncated, .tooLarge, .badSignature,
        .wrongFeed, .rollback, .fork, .corruptBatch, .state(.unusable(0)), .locked, .diskFull,
        .configuration(.serviceMissing), .protocolViolation, .notRegistered, .notServed,
        .stillRegistered, .secrets, .metered(until: Date(seconds: 0)), .source(.failed), .cancelled,
    ]

    fileprivate init?(code: String) {
        guard let error = Self.examples.first(where: { $0.code == code }) else { return nil }
        self = error
    }
}
