import Foundation
import TestSupport
import Testing
import WakeModel

@Suite("Publisher and client read secrets alike", .timeLimit(.minutes(5)))
struct SecretsAgreeTests {
    /// A file of a few lines, most of them what editors, keyboards and other programs make.
    private static func file(_ random: inout SplitMix64) -> [UInt8] {
        let isHex = Bool.random(using: &random)
        var lines = (0..<Int.random(in: 1...4, using: &random)).map { _ in
            let count = [1, 15, 16, 16, 20, 32, 32, 32, 1024, 1025].randomElement(using: &random)
            let bytes = (0..<(count ?? 32)).map { _ in UInt8.random(in: 0...255, using: &random) }
            return isHex || Int.random(in: 0..<8, using: &random) == 0
                ? Hex.encode(bytes.span) : Base64URL.encode(bytes.span)
        }
        if Bool.random(using: &random) {
            let index = Int.random(in: 0..<lines.count, using: &random)
            lines[index] = spoilt(lines[index], &random)
        }
        if Int.random(in: 0..<4, using: &random) == 0 { lines.append(lines[0]) }
        let ends = [[0x0A], [0x0D, 0x0A], [0x0A, 0x0A]] as [[UInt8]]
        let end = ends.randomElement(using: &random) ?? [0x0A]
        let text = Array(lines.joined(separator: end))
        return Bool.random(using: &random) ? text + end : text
    }

    private static func spoilt(_ line: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
        let place = Int.random(in: 0...line.count, using: &random)
        func inserted(_ bytes: [UInt8]) -> [UInt8] { line[..<place] + bytes + line[place...] }
        return switch Int.random(in: 0..<14, using: &random) {
        case 0: [0xEF, 0xBB, 0xBF] + line
        case 1: line + [0x20]
        case 2: [0x09] + line
        case 3: [0x22] + line + [0x22]
        case 4: line + [0x3D]
        case 5: inserted([UInt8.random(in: 0...255, using: &random)])
        case 6: inserted(Array("g".utf8))
        case 7: Array(line.dropLast())
        case 8: line.map { $0 == 0x2D ? 0x2B : $0 == 0x5F ? 0x2F : $0 }
        case 9: Array(String(decoding: line, as: UTF8.self).uppercased().utf8)
        case 10: line + [0x0D, 0x0D]
        case 11: inserted([0])
        case 12: []
        default: Array("0x".utf8) + line
        }
    }

    @Test("what one takes the other takes, as the same secrets, and both name the same fault")
    func agree() async throws {
        var random = SplitMix64(seed: 6)
        let site = try await FeedSite()
        let feed = ["--feed", site.feed, "--key", site.keyFile]
        var counts = [Int32: Int]()
        for round in 0..<120 {
            let file = Self.file(&random)
            let isText = Int.random(in: 0..<10, using: &random) == 0
            let words = isText ? ["--text"] : []
            let published = try await RunningProgram.run(
                "reveille", ["feed", "publish", "-", "--secrets", "--again"] + words + feed,
                input: file)
            let client = try await ClientUnderTest(feed: site.url, key: site.key)
            let added = try await RunningProgram.run(
                "reveille-client", ["secrets", "add", "s", "--state", client.state] + words,
                input: file)
            #expect(added.status == published.status, "round \(round): \(added.output)")
            counts[added.status, default: 0] += 1
            guard published.status == 0 else {
                let fault = published.output.split(separator: "\n").first?
                    .replacing("reveille: ", with: "")
                #expect(added.output.contains(fault ?? "?"), "round \(round): \(added.output)")
                continue
            }
            let secrets = added.output.split(separator: "\n").count
            #expect(published.output.contains("published \(secrets) items"), "round \(round)")
            // Every secret is found in what was just published.
            let matches = try await client.command("sync").output.split(separator: "\n")
                .filter { $0.hasPrefix("match ") }
            #expect(matches.count == secrets, "round \(round): \(added.output) \(matches)")
        }
        #expect(Set(counts.keys) == [0, 65] && counts.values.allSatisfy { $0 > 20 }, "\(counts)")
    }
}
