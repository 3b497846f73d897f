import Glibc
import Testing
import WakeModel
import WakeSystem

@testable import WakeAudit

@Suite("Rows and their bytes", .timeLimit(.minutes(5)))
struct RowTests {
    private static func row(
        _ description: String, _ finding: AuditFinding, _ id: [UInt8], _ sealed: [UInt8]
    ) -> Plant {
        Plant(description, finding) { try $0.insert([(id, sealed)]) }
    }

    private static func rows(
        _ description: String, _ finding: AuditFinding, count: Int,
        _ make: @escaping @Sendable (Int) -> (id: [UInt8], sealed: [UInt8])
    ) -> Plant {
        Plant(description, finding) { try $0.insert((0..<count).map(make)) }
    }

    /// A byte in the nonces of so few rows, in a table without others: 500 tell everything.
    private static func few(
        _ description: String, _ finding: AuditFinding, rows: Int = AuditFacts.tellingRows,
        _ byte: @escaping @Sendable (Int) -> UInt8
    ) -> Plant {
        Plant(description + " in \(rows) rows", finding) { site in
            try site.execute("DELETE FROM registration")
            try site.insert(
                (0..<rows).map { number in
                    var sealed = Sodium.random(632)
                    sealed[11] = byte(number)
                    return (Sodium.random(32), sealed)
                })
        }
    }

    private static let hex = Array("0123456789abcdef".utf8)

    /// A push token in clear, as text, and nothing behind it.
    private static let text = (0..<64).map { _ in hex[Int(Sodium.random(1)[0] & 15)] }

    static let forms = [
        row("a short id", .valueLength, Sodium.random(16), Sodium.random(632)),
        row("an unpadded value", .valueLength, Sodium.random(32), Sodium.random(104)),
        row("a value that is too long", .valueLength, Sodium.random(32), Sodium.random(553)),
        row("an empty value", .valueLength, Sodium.random(32), []),
        Plant("text for a blob", .valueType) { site in
            try site.change { bytes in
                let place = try require(
                    AuditSite.pages(of: bytes) { $0.kind == .indexLeaf && !$0.cells.isEmpty }.first)
                let cell = try require(place.page.cells.first).payload.lowerBound
                // Serial types 76 and 1116 become text of the same length.
                bytes[place.start + cell + 1] |= 1
            }
        },
        Plant("a value less", .recordForm) { site in
            try site.change { bytes in
                let place = try require(
                    AuditSite.pages(of: bytes) { $0.kind == .indexLeaf && !$0.cells.isEmpty }.first)
                let cell = try require(place.page.cells.first).payload.lowerBound
                bytes[place.start + cell] = 2
            }
        },
    ]

    static let looks = [
        row(
            "a push token in clear, padded", .sameBytes, Sodium.random(32),
            text + [UInt8](repeating: 0, count: 632 - 64)),
        row(
            "a push token in clear among noise", .text, Sodium.random(32),
            Sodium.random(24) + text + Sodium.random(632 - 88)),
        row(
            "base64 of the whole length", .unevenRow, Sodium.random(32),
            (0..<632).map { _ in UInt8(0x40) | Sodium.random(1)[0] & 0x9F }),
        row("an id that is text", .text, Array(text[..<32]), Sodium.random(632)),
        row(
            "an id that is mostly zero", .sameBytes,
            [UInt8](repeating: 0, count: 28) + [1, 2, 3, 4],
            Sodium.random(632)),
        rows("the time in nonces", .unevenPosition, count: 40) { number in
            let time = 1_800_000_000 + number * 977
            let bytes = (0..<4).map { UInt8(truncatingIfNeeded: time >> (24 - 8 * $0)) }
            return (Sodium.random(32), bytes + Sodium.random(628))
        },
        rows("milliseconds at the end of nonces", .unevenPosition, count: 40) { number in
            let time = 1_800_000_000_000 + number * 1_234_567
            let bytes = (0..<8).map { UInt8(truncatingIfNeeded: time >> (56 - 8 * $0)) }
            return (Sodium.random(32), Sodium.random(16) + bytes + Sodium.random(608))
        },
        rows("one bit of every nonce", .unevenPosition, count: 1600) { _ in
            var sealed = Sodium.random(632)
            sealed[11] &= 0x7F
            return (Sodium.random(32), sealed)
        },
        rows("a counter in nonces, too even for chance", .unevenPosition, count: 5120) { number in
            var sealed = Sodium.random(632)
            sealed[23] = UInt8(truncatingIfNeeded: number)
            return (Sodium.random(32), sealed)
        },
        rows("a platform in ids", .unevenColumn, count: 1500) { _ in
            (Sodium.random(32).map { $0 < 64 ? $0 | 1 : $0 }, Sodium.random(632))
        },
        Plant("one nonce twice", .repeatedNonce) { site in
            let sealed = Sodium.random(632)
            try site.insert([
                (Sodium.random(32), sealed),
                (Sodium.random(32), Array(sealed[..<24]) + Sodium.random(608)),
            ])
        },
        Plant("text among the ids that move", .text) { site in
            try site.execute("INSERT INTO moved VALUES(x'\(String(repeating: "61", count: 32))')")
        },
        Plant("two ids with one ending", .repeatedID) { site in
            let end = Sodium.random(8)
            try site.insert((0..<2).map { _ in (Sodium.random(24) + end, Sodium.random(632)) })
        },
        Plant("two values with one ending", .repeatedValue) { site in
            let end = Sodium.random(8)
            try site.insert((0..<2).map { _ in (Sodium.random(32), Sodium.random(624) + end) })
        },
        Plant("the same 316 bytes twice", .repeatedValue) { site in
            let half = Sodium.random(316)
            try site.insert([(Sodium.random(32), half + half)])
        },
        rows("a date mixed with the id in nonces", .unevenPosition, count: 60) { number in
            let id = Sodium.random(32)
            let time = 1_800_000_000 + number * 977
            let bytes = (0..<4).map { UInt8(truncatingIfNeeded: time >> (24 - 8 * $0)) ^ id[$0] }
            return (id, bytes + Sodium.random(628))
        },
        few("a constant bit", .unevenPosition) { number in Sodium.random(1)[0] | 0x20 },
        few("a bit nine times of ten", .unevenPosition) { number in
            number % 10 == 0 ? Sodium.random(1)[0] & 0x7F : Sodium.random(1)[0] | 0x80
        },
        few("a byte of 40 values", .unevenPosition) { _ in 100 + Sodium.random(1)[0] % 40 },
        few("what is the same in all times of a month", .unevenPosition, rows: 6) { _ in 0x6B },
        few("a bit that is always set", .unevenPosition, rows: 53) { _ in
            Sodium.random(1)[0] | 0x20
        },
        few("a counter", .unevenPosition) { number in UInt8(truncatingIfNeeded: number) },
        Plant("one id in both files", .repeatedID) { site in
            let id = Sodium.random(32)
            for file in [site.database, site.current] {
                try site.insert([(id, Sodium.random(632))], into: file)
            }
        },
    ]

    @Test("that are not what chance makes of 32 and 632 bytes are found", arguments: forms + looks)
    func planted(_ plant: Plant) async throws {
        try await plant.check()
    }

    @Test("the counter of the control is even: without it the same rows are clean")
    func control() async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        try site.insert((0..<5120).map { _ in (Sodium.random(32), Sodium.random(632)) })
        let report = try site.audit()
        #expect(report.isClean, "\(report.text)")
    }

    @Test("500 rows of chance are clean, and with fewer the report says that it cannot judge")
    func fewRows() async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        for file in [site.database, site.current] {
            try site.execute("DELETE FROM registration", in: file)
        }
        #expect(try site.audit().facts.fewRows == [])
        for seed in 0..<4 {
            try site.execute("DELETE FROM registration")
            let count = AuditFacts.tellingRows - seed % 2
            try site.insert((0..<count).map { _ in (Sodium.random(32), Sodium.random(632)) })
            let report = try site.audit()
            #expect(report.isClean, "\(report.text)")
            #expect(report.facts.fewRows == (seed % 2 == 0 ? [] : ["generation-1"]))
            #expect(report.text.contains("too few rows") == (seed % 2 == 1))
        }
    }

    @Test("the bounds on equal bytes are the least that chance passes once in 10^10 times")
    func binomial() {
        for total in 6..<1280 {
            let most = ChiSquareBounds.mostEqual(among: total)
            // The tail beyond, summed from the smallest term.
            func tail(_ least: Int) -> Double {
                var sum = 0.0
                for count in stride(from: total, through: least, by: -1) {
                    var term = Double(total - count) * log(255.0 / 256) - Double(count) * log(256)
                    term += lgamma(Double(total + 1)) - lgamma(Double(count + 1))
                    sum += exp(term - lgamma(Double(total - count + 1)))
                }
                return 256 * sum
            }
            guard tail(most + 1) <= 1e-10, tail(most) >= 0.5e-10 else {
                Issue.record("\(most) of \(total)")
                return
            }
        }
    }

    @Test("the bounds are where the binomial distribution says")
    func bounds() {
        // 256 x C(6,6) / 256^6 = 9e-13, and of five 2e-10.
        #expect(ChiSquareBounds.mostEqual(among: 5) == 5)
        #expect(ChiSquareBounds.mostEqual(among: 6) == 5)
        #expect((8...12).contains(ChiSquareBounds.mostEqual(among: 100)))
        #expect(ChiSquareBounds.mostEqual(among: 1279) == 28)
        #expect((10...12).contains(ChiSquareBounds.mostEqual(inValueOf: 32)))
        #expect(ChiSquareBounds.longestText(inValueOf: 32) == 31)
        #expect((38...48).contains(ChiSquareBounds.longestText(inValueOf: 632)))
    }
}
