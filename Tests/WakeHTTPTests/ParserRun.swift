@testable import WakeHTTP

/// The result of a parser for bytes that arrive in the parts a test chooses.
struct ParserRun: Equatable {
    var step: RequestParser.Step
    var head: RequestHead

    /// Shows the parser ever longer prefixes that end at `cuts`, then everything.
    static func feed(
        _ bytes: [UInt8], cuts: [Int] = [], limits: RequestLimits = RequestLimits()
    ) -> ParserRun {
        var parser = RequestParser(limits: limits)
        for cut in cuts {
            let step = parser.advance(over: bytes.span.extracting(0..<cut))
            if step != .needMore { return ParserRun(step: step, head: parser.head) }
        }
        let step = parser.advance(over: bytes.span)
        return ParserRun(step: step, head: parser.head)
    }

    static func feed(_ text: String, limits: RequestLimits = RequestLimits()) -> ParserRun {
        feed(Array(text.utf8), limits: limits)
    }
}
