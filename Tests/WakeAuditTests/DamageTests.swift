import Foundation
import TestSupport
import Testing
import WakeModel
import WakeSystem

@testable import WakeAudit

@Suite("Files changed at random", .timeLimit(.minutes(5)))
struct DamageTests {
    /// Writes without flushing: hundreds of files.
    private func write(_ bytes: [UInt8], to path: String) throws {
        try Data(bytes).write(to: URL(filePath: path))
    }

    @Test("one changed byte is found, wherever it is not a count of SQLite's own")
    func oneByte() async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        let original = StorePlace.bytes(of: site.database)
        var random = SeededRandom(seed: 11)
        for _ in 0..<120 {
            var bytes = original
            // Half of them where pages say what is in them.
            let page =
                Int.random(in: 0..<original.count / Limits.pageBytes, using: &random)
                * Limits.pageBytes
            let within = Int.random(
                in: 0..<(Bool.random(using: &random) ? 32 : Limits.pageBytes), using: &random)
            bytes[page + within] ^= UInt8.random(in: 1...255, using: &random)
            try write(bytes, to: site.database)
            let report = try site.audit(keys: true)
            if report.isClean {
                let isAllowed = isBookkeeping(page + within, original)
                #expect(isAllowed, "offset \(within) of page \(page / Limits.pageBytes + 1)")
            }
        }
    }

    /// Places where another number may stand: the writing library's version, and in free space
    /// what the rule for it allows.
    private func isBookkeeping(_ offset: Int, _ original: [UInt8]) -> Bool {
        if (96..<100).contains(offset) { return true }
        let start = offset / Limits.pageBytes * Limits.pageBytes
        let trunk = (Int(original.span.number32(at: 32)) - 1) * Limits.pageBytes
        if start == trunk { return offset >= start + 8 }
        guard start > 0, original[start] == 2 || original[start] == 10,
            let page = BTreePage(
                original.span.extracting(start..<start + Limits.pageBytes), from: 0)
        else { return false }
        return page.gap.contains(offset - start)
    }

    @Test("much damage is reported and never crashes the walk", arguments: 0..<4)
    func much(_ seed: Int) async throws {
        let site = try AuditSite(copying: try await StoreHistory.mixed())
        let original = StorePlace.bytes(of: site.database)
        var random = SeededRandom(seed: UInt64(100 + seed))
        for _ in 0..<25 {
            var bytes = original
            for _ in 0..<Int.random(in: 1...40, using: &random) {
                let place = Int.random(in: 100..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    bytes[place] =
                        [0, 1, 2, 5, 10, 13, 0x7F, 0x80, 0xFF].randomElement(
                            using: &random) ?? 0
                case 1:
                    bytes[place / Limits.pageBytes * Limits.pageBytes + place % 24] = UInt8.random(
                        in: 0...255, using: &random)
                case 2:
                    let other =
                        Int.random(in: 1..<bytes.count / Limits.pageBytes, using: &random)
                        * Limits.pageBytes
                    let page = max(1, place / Limits.pageBytes) * Limits.pageBytes
                    bytes.replaceSubrange(
                        page..<page + Limits.pageBytes,
                        with: original[other..<other + Limits.pageBytes])
                default:
                    let count = min(64, bytes.count - place)
                    bytes.replaceSubrange(
                        place..<place + count, with: repeatElement(0xFF, count: count))
                }
            }
            if Bool.random(using: &random) {
                bytes.removeLast(Int.random(in: 1..<bytes.count - 100, using: &random))
            }
            try write(bytes, to: site.database)
            let report = try site.audit(keys: true)
            if bytes != original, report.isClean {
                let places = bytes.indices.filter { bytes[$0] != original[$0] }
                #expect(places.allSatisfy { isBookkeeping($0, original) })
            }
        }
    }
}
