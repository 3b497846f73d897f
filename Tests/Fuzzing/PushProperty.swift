import TestSupport
import WakePush
import WakeSystem

/// A connection, whatever its peer writes: every push has exactly one outcome, it does not matter
/// how the bytes are cut, and we ourselves write nothing but good frames.
enum PushProperty {
    private static let shape = RequestTemplate(
        authority: "push.example", path: "/3/device/",
        fields: [.init("apns-topic", "org.example.app"), .init("apns-priority", "5")],
        authorization: Array("bearer abc".utf8), body: Array("{\"aps\":{}}".utf8))

    /// - Parameter input: a byte that says how many pushes are made at a time, one that says how
    ///   the rest is cut, and what the peer writes.
    static func check(_ input: [UInt8]) throws(Violation) -> Bool {
        guard input.count > 2 else { return false }
        let script = Array(input[2...])
        let whole = play(script, pushes: Int(input[0] % 8) + 1, cuts: nil)
        let cut = play(script, pushes: Int(input[0] % 8) + 1, cuts: UInt64(input[1]))
        try require(whole.outcomes.results == cut.outcomes.results, "outcomes depend on cuts")
        try require(whole.outcomes.bodies == cut.outcomes.bodies, "bodies depend on cuts")
        try require(whole.written == cut.written, "what we write depends on cuts")
        try require(whole.end == cut.end, "the end depends on cuts")
        let references = whole.outcomes.results.map(\.reference).sorted()
        try require(
            references.elementsEqual(0..<UInt64(whole.pushed)), "not one outcome for each push")
        for result in whole.outcomes.results {
            guard case .answered(let status, _, let body) = result.outcome else { continue }
            try require((200...999).contains(status), "an answer without a status")
            try require(body.count <= 4096, "a body longer than allowed")
            _ = whole.outcomes.bytes(of: body)
        }
        try checkWritten(whole.written)
        return whole.outcomes.results.contains {
            if case .answered = $0.outcome { true } else { false }
        }
    }

    private struct Played {
        var outcomes = PushOutcomes()
        var written: [UInt8] = []
        var end: ConnectionEnd?
        var pushed = 0
    }

    /// Pushes after every 64 bytes; in between the bytes are fed at once, or cut at random.
    private static func play(_ script: [UInt8], pushes: Int, cuts: UInt64?) -> Played {
        var played = Played()
        var limits = ConnectionLimits()
        limits.streams = 20
        var connection = PushConnection(shape, limits: limits, now: 0)
        var random = cuts.map { SplitMix64(seed: $0) }
        var now: UInt64 = 0
        for start in stride(from: 0, to: script.count, by: 64) {
            var position = start
            let end = min(start + 64, script.count)
            while position < end {
                var count = end - position
                if random != nil { count = Int((random?.next() ?? 0) % UInt64(count)) + 1 }
                let piece = Array(script[position..<position + count])
                connection.receive(piece, count: count, now: now)
                position += count
            }
            for _ in 0..<pushes where connection.room > 0 {
                let token = Array(String(played.pushed, radix: 16).utf8)
                connection.push(UInt64(played.pushed), token: token.span)
                played.pushed += 1
            }
            now += 100
            connection.tick(now: now, isQueued: played.pushed % 2 == 0)
            take(&connection, &played)
        }
        connection.transportEnded()
        take(&connection, &played)
        played.end = connection.end
        return played
    }

    private static func take(_ connection: inout PushConnection, _ played: inout Played) {
        let (bytes, offset) = connection.outputBytes
        played.written += bytes[offset...]
        connection.didSend(connection.outputCount)
        connection.takeOutcomes(into: &played.outcomes)
    }

    /// The preface, then whole frames; requests decode and carry the one shape.
    private static func checkWritten(_ bytes: [UInt8]) throws(Violation) {
        try require(bytes.starts(with: FrameWriter.preface), "no preface")
        var decoder = HPACKDecoder()
        var list = HeaderList()
        var position = FrameWriter.preface.count
        var last: UInt32 = 0
        while case .complete(let frame, let end) = FrameReader.read(bytes.span, at: position) {
            position = end
            guard case .headers(let stream, let fragment, let isWhole, _) = frame else { continue }
            try require(isWhole && stream % 2 == 1 && stream > last, "streams out of order")
            last = stream
            do {
                try decoder.decode(bytes.span.extracting(fragment), into: &list)
            } catch {
                throw Violation("a request that does not decode")
            }
            try require(list.count == 7, "a request without all its fields")
            try require(
                list.value(6).elementsEqual(shape.authorization), "a request without credential")
        }
        try require(position == bytes.count, "half a frame")
    }
}
