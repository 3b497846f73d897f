extension Options {
    /// Nil after a flag or value that is not of `usage`.
    init?(_ arguments: [String]) {
        self.init()
        var rest = arguments[...]
        while let flag = rest.popFirst() {
            guard let value = rest.popFirst() else { return nil }
            if let place = Self.numbers[flag] {
                guard let number = Self.number(value) else { return nil }
                self[keyPath: place] = number
            } else if let place = Self.texts[flag] {
                self[keyPath: place] = value
            } else if !set(flag, value) {
                return nil
            }
        }
        streamsAt.sort { $0.request < $1.request }
        guard (certificate == nil) == (key == nil), connectionWindow > 0 else { return nil }
    }

    private static var numbers: [String: WritableKeyPath<Options, Int>] {
        [
            "--token-age": \.tokenAge, "--token-interval": \.tokenInterval,
            "--latency": \.latency, "--streams": \.streams, "--goaway-every": \.goAwayEvery,
            "--reset-every": \.resetEvery, "--refuse-every": \.refuseEvery,
            "--stall-at": \.stallAt, "--stall-seconds": \.stallSeconds,
            "--garbage-at": \.garbageAt, "--huge-headers-every": \.hugeHeadersEvery,
            "--exit-at": \.exitAt, "--connection-window": \.connectionWindow,
        ]
    }

    private static var texts: [String: WritableKeyPath<Options, String?>] {
        [
            "--certificate": \.certificate, "--key": \.key, "--public-key": \.publicKey,
            "--key-id": \.keyID, "--team-id": \.teamID, "--topic": \.topic, "--report": \.report,
            "--hold": \.hold,
        ]
    }

    /// What SETTINGS and windows can hold (RFC 9113 §6.9.1).
    private static func number(_ text: some StringProtocol) -> Int? {
        guard let number = Int(text), (0...0x7FFF_FFFF).contains(number) else { return nil }
        return number
    }

    private mutating func set(_ flag: String, _ value: String) -> Bool {
        let parts = value.split(separator: ":", omittingEmptySubsequences: false)
        switch flag {
        case "--port":
            guard let port = UInt16(value) else { return false }
            self.port = port
        case "--table-size":
            tableSize = Self.number(value)
            return tableSize != nil
        case "--window":
            window = Self.number(value)
            return window != nil
        case "--without-alpn": withoutALPN = value == "yes"
        case "--dynamic-headers": dynamicHeaders = value == "yes"
        case "--streams-at":
            guard parts.count == 2, let request = Self.number(parts[0]),
                let streams = Self.number(parts[1])
            else { return false }
            streamsAt.append((request, streams))
        case "--answer":
            guard let every = parts.first.flatMap(Self.number), every > 0,
                let answer = Self.answer(parts.dropFirst())
            else { return false }
            answers.append((every, answer))
        case "--answer-token":
            let digits = parts[0].compactMap { $0.hexDigitValue.map { UInt8($0) } }
            guard !digits.isEmpty, digits.count == parts[0].count,
                let answer = Self.answer(parts.dropFirst())
            else { return false }
            tokenAnswers.append((digits, answer))
        case "--answer-all":
            answerAll = Self.answer(parts[...])
            return answerAll != nil
        default: return false
        }
        return true
    }

    /// `STATUS[:REASON[:RETRY-AFTER]]`
    private static func answer(_ parts: ArraySlice<Substring>) -> Answer? {
        let parts = Array(parts)
        guard (1...3).contains(parts.count), let status = number(parts[0]),
            (200...999).contains(status)
        else { return nil }
        var answer = Answer(status: status)
        // It goes into JSON as it is.
        guard parts.count < 2 || parts[1].allSatisfy({ $0.isASCII && $0.isLetter }) else {
            return nil
        }
        if parts.count > 1 { answer.reason = String(parts[1]) }
        if parts.count > 2 {
            guard let seconds = number(parts[2]) else { return nil }
            answer.retryAfter = seconds
        }
        return answer
    }
}
