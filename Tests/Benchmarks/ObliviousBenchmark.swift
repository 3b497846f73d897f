import WakeModel
import WakeOblivious
import WakeSystem

/// What a gateway computes for an encapsulated registration beyond a plain one: it opens the
/// request, reads the message in it, and writes and encrypts the answer.
enum ObliviousBenchmark {
    private static let help = """
        usage: bench oblivious [--requests 20000]

        Microseconds of CPU for each request of a gateway, for each cipher that this machine has:
        all of it but HTTP and the store, which a plain registration has as well.

        """

    static func run(_ arguments: [String]) -> Int32 {
        let options = Options(arguments, known: ["requests"], flags: [])
        let count = options.number("requests", default: 20_000)
        guard options.unknown == nil, count > 0 else {
            print(help, terminator: "")
            return options.unknown == "--help" ? 0 : 2
        }
        let line = ObliviousKey.newLine()
        guard let key = ObliviousKey(line: line.span) else { return 1 }
        for cipher in key.configuration.ciphers {
            guard let time = measure(cipher, ObliviousKeyRing([key]), count) else { return 1 }
            let microseconds = Double(Int(time * 1e7 / Double(count))) / 10
            print("\(cipher.name): \(microseconds) us CPU a request")
        }
        return 0
    }

    /// CPU seconds; nil when anything is not as it was sent.
    private static func measure(
        _ cipher: HPKECipher, _ ring: ObliviousKeyRing, _ count: Int
    ) -> Double? {
        let token = Array("Bearer AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8".utf8)
        var writer = BinaryMessageWriter(
            method: "PUT", scheme: "https", authority: Array("wake.example.org".utf8),
            path: "/v1/registration", capacity: Limits.obliviousRequestBytes)
        writer.add("authorization", token.span)
        let body = [UInt8](repeating: 0x20, count: Limits.paddedBodyBytes)
        guard
            let message = writer.finish(
                content: body.span, paddedTo: Limits.obliviousRequestBytes),
            let request = ObliviousRequest(message, to: ring.keys[0].configuration, cipher: cipher)
        else { return nil }
        let watch = Stopwatch()
        for _ in 0..<count {
            guard case .success(let opened) = ring.open(request.bytes.span),
                let inner = try? BinaryMessage(opened.message.bytes),
                inner.content(in: opened.message.bytes.span).count == body.count
            else { return nil }
            var answer = BinaryMessageWriter(status: 204, capacity: Limits.obliviousAnswerBytes)
            let nothing: [UInt8] = []
            let padded = answer.finish(
                content: nothing.span,
                paddedTo: Limits.obliviousAnswerBytes - opened.response.overhead)
            guard let padded, opened.response.seal(padded)?.count == Limits.obliviousAnswerBytes
            else { return nil }
        }
        return watch.processorSeconds
    }
}
