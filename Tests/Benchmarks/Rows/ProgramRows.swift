private import Foundation
private import Glibc
import TestSupport
import WakeFetch
import WakeModel
import WakeSystem

/// The programs themselves: their start; and what oblivious requests cost a gateway.
enum ProgramRows {
    static let all: [Benchmark] = [
        start, oblivious(.chaCha20Poly1305), oblivious(.aes128GCM),
    ]

    // MARK: Start

    private static let start = Benchmark(
        "start", "a start of the service until it listens", unit: "starts",
        sizes: Sizes(20, full: 50, growth: nil), by: .processorTime
    ) { setting in
        let service = try await BenchService(in: setting.directory)
        let program = BenchService.file("reveille")
        return [
            Arm(.ours, "reveille serve") { _ in
                var sum = Measurement(operations: 0, seconds: 0, processorSeconds: 0)
                for _ in 0..<setting.size {
                    let start = Stopwatch.monotonic()
                    try await service.start()
                    let taken = Stopwatch.monotonic() - start
                    sum.operations += 1
                    sum.latencies.record(taken)
                    sum.seconds += Double(taken) / 1e9
                    let used = Stopwatch.processorSeconds(of: service.process) ?? 0
                    sum.processorSeconds = (sum.processorSeconds ?? 0) + used
                    sum.memory = ProcessStatus(of: service.process)?.peak
                    try await service.stop()
                }
                return sum
            },
            Arm(.ceiling, "the same program, which says its version and ends") { _ in
                var sum = Measurement(operations: 0, seconds: 0, processorSeconds: 0)
                for _ in 0..<setting.size {
                    let start = Stopwatch.monotonic()
                    guard let process = MeasuredProcess([program, "--version"]) else {
                        throw BenchFailure("reveille does not start")
                    }
                    while process.line() != nil {}
                    let taken = Stopwatch.monotonic() - start
                    sum.operations += 1
                    sum.latencies.record(taken)
                    sum.seconds += Double(taken) / 1e9
                    sum.processorSeconds =
                        (sum.processorSeconds ?? 0) + process.end().processorSeconds
                }
                return sum
            },
        ]
    }

    // MARK: Oblivious

    /// All that a gateway does with an encapsulated registration beyond a plain one: it opens the
    /// request, reads the message in it, and writes and encrypts the answer.
    private static func oblivious(_ cipher: HPKECipher) -> Benchmark {
        Benchmark(
            "oblivious-\(cipher == .aes128GCM ? "aes" : "chacha")",
            "an encapsulated registration with \(cipher.name), beyond a plain one",
            unit: "requests", sizes: Sizes(10_000, full: 50_000, growth: 300), by: .processorTime
        ) { setting in
            let line = ObliviousKey.newLine()
            guard let key = ObliviousKey(line: line.span),
                key.configuration.ciphers.contains(cipher)
            else { throw BenchFailure("this machine has no \(cipher.name)") }
            let count = setting.size
            return [
                Arm(.ours, "gateway") { _ in
                    try ObliviousRun.measure(cipher, ObliviousKeyRing([key]), count)
                },
                Arm(.ceiling, "X25519, and as many bytes through ChaCha20-Poly1305") { _ in
                    try ObliviousRun.unavoidable(count)
                },
            ]
        }
    }
}

private enum ObliviousRun {
    static func measure(
        _ cipher: HPKECipher, _ ring: ObliviousKeyRing, _ count: Int
    ) throws -> Measurement {
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
        else { throw BenchFailure("no request") }
        let watch = Stopwatch()
        let start = Stopwatch.threadSeconds
        for _ in 0..<count {
            guard case .success(let opened) = ring.open(request.bytes.span),
                let inner = try? BinaryMessage(opened.message.bytes),
                inner.content(in: opened.message.bytes.span).count == body.count
            else { throw BenchFailure("a request is not as it was sent") }
            var answer = BinaryMessageWriter(status: 204, capacity: Limits.obliviousAnswerBytes)
            let nothing: [UInt8] = []
            let padded = answer.finish(
                content: nothing.span,
                paddedTo: Limits.obliviousAnswerBytes - opened.response.overhead)
            guard let padded, opened.response.seal(padded)?.count == Limits.obliviousAnswerBytes
            else { throw BenchFailure("no answer") }
        }
        return Measurement(
            operations: count, seconds: watch.seconds,
            processorSeconds: Stopwatch.threadSeconds - start)
    }

    static func unavoidable(_ count: Int) throws -> Measurement {
        let (own, other, key) = (Sodium.random(32), Sodium.random(32), Sodium.random(32))
        let nonce = [UInt8](repeating: 1, count: 12)
        let publicKey = X25519.publicKey(of: other.span)
        let request = [UInt8](repeating: 2, count: Limits.obliviousRequestBytes)
        let answer = [UInt8](repeating: 3, count: Limits.obliviousAnswerBytes)
        let nothing: [UInt8] = []
        let watch = Stopwatch()
        let start = Stopwatch.threadSeconds
        for _ in 0..<count {
            guard X25519.agree(own.span, with: publicKey.span) != nil else {
                throw BenchFailure("no agreement")
            }
            for bytes in [request, answer] {
                _ = ChaChaPoly.seal(
                    bytes.span, associated: nothing.span, nonce: nonce.span, key: key.span)
            }
        }
        return Measurement(
            operations: count, seconds: watch.seconds,
            processorSeconds: Stopwatch.threadSeconds - start)
    }
}
