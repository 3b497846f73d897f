@testable import WakeHTTP

/// A parser's last word on some bytes, fed in the pieces a test chooses.
struct ParserRun: Equatable {
    var step: RequestParser.Step
    var head: RequestHead

    /// Shows the parser ever longer prefixes that end at `cuts`, then everything.
    static func feed(
        _ bytes: [UInt8], cuts: [Int] = [], limits: ParserLimits = ParserLimits()
    ) -> ParserRun {
        var parser = RequestParser(limits: limits)
        for cut in cuts {
            let step = parser.advance(over: bytes.span.extracting(0..<cut))
            if step != .needMore { return ParserRun(step: step, head: parser.head) }
        }
        let step = parser.advance(over: bytes.span)
        return ParserRun(step: step, head: parser.head)
    }

    static func feed(_ text: String, limits: ParserLimits = ParserLimits()) -> ParserRun {
        feed(Array(text.utf8), limits: limits)
    }
}

/// A small generator with a seed, so that a failure can be repeated.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
