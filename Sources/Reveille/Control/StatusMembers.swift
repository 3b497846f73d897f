import FoundationEssentials
import WakeFeed

/// The status as other programs read it: the same members in `status --json`, `run --json`, the
/// control socket and on the session bus. Members are added at the end and never taken away.
extension ClientStatus {
    /// A member's value.
    package enum MemberValue: Sendable, Equatable {
        /// A word of a closed list, which JSON takes as it is.
        case word(String)
        case number(Int64)
        case flag(Bool)
    }

    /// The members in order; a nil value is unknown or does not apply.
    package var members: [(name: String, value: MemberValue?)] {
        members(isRunning: runningSince != nil)
    }

    private func members(isRunning: Bool) -> [(name: String, value: MemberValue?)] {
        var streamStatus: Int64?
        if case .refused(let status) = stream { streamStatus = Int64(status) }
        let word = { (text: String?) in text.map { MemberValue.word($0) } }
        let number = { (value: Int64?) in value.map { MemberValue.number($0) } }
        let time = { (value: Date?) in value.map { MemberValue.number($0.wholeSeconds) } }
        return [
            ("registration", .word(registration.name)),
            ("failure", word(registration.failure?.code)),
            ("sequence", .number(Int64(clamping: sequence))),
            ("lastVerified", time(lastVerified)),
            ("matchesToDeliver", .number(Int64(matchesToDeliver))),
            ("batchesWaiting", .number(Int64(batchesWaiting))),
            ("waitingUntil", time(waitingUntil)),
            ("pausedUntil", time(pausedUntil)),
            ("retired", .flag(isRetired)),
            ("forked", .flag(isForked)),
            ("sharesOrigin", .flag(sharesOrigin)),
            ("running", .flag(isRunning)),
            ("runningSince", time(runningSince)),
            ("stream", .word(stream.name)),
            ("streamStatus", number(streamStatus)),
            ("checkFailure", word(failure?.code)),
            ("nextCheck", time(nextCheck)),
            ("formerServices", .number(Int64(formerServices))),
            ("lastChecked", time(lastChecked)),
            ("firstUnchecked", number(unchecked.map { Int64(clamping: $0.lowerBound) })),
            ("lastUnchecked", number(unchecked.map { Int64(clamping: $0.upperBound) })),
            ("fingerprint", word(fingerprint?.text)),
            ("streamCutSeconds", number(streamCutAfter?.wholeSeconds)),
        ]
    }

    /// One JSON object in one line.
    package var json: String { json(isRunning: runningSince != nil) }

    /// - Parameter isRunning: some process holds the profile, if not this one.
    package func json(isRunning: Bool) -> String {
        let texts = members(isRunning: isRunning).map { name, value in
            let text =
                switch value {
                case .word(let word)?: "\"\(word)\""
                case .number(let number)?: "\(number)"
                case .flag(let flag)?: "\(flag)"
                case nil: "null"
                }
            return "\"\(name)\":\(text)"
        }
        return "{\(texts.joined(separator: ","))}"
    }

    /// Whether anything but the time of the next check differs, which moves by itself.
    package func differs(from other: ClientStatus) -> Bool {
        zip(members, other.members).contains { $0.name != "nextCheck" && $0.value != $1.value }
    }
}

extension RegistrationState {
    /// A stable name for scripts.
    package var name: String {
        switch self {
        case .none: "none"
        case .registered: "registered"
        case .registering: "registering"
        case .unregistering: "unregistering"
        case .suspended: "suspended"
        case .proving: "proving"
        }
    }

    /// The failure of the last attempt.
    package var failure: ClientError? {
        switch self {
        case .registering(let failure), .unregistering(let failure): failure
        case .none, .registered, .suspended, .proving: nil
        }
    }
}
