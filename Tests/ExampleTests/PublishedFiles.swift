import Foundation
import TestSupport

/// A directory of text files served over HTTP on loopback, with `index` for their names and ranges.
final class PublishedFiles: Sendable {
    private let server: WireServer

    /// - Parameter ignoresRanges: every answer is the whole file, as of a plain server.
    init(_ directory: String, ignoresRanges: Bool = false) throws {
        server = try WireServer { peer in
            while let head = try? peer.receive(through: "\r\n\r\n") {
                let answer = Self.answer(head, directory, ignoresRanges)
                guard (try? peer.send(answer)) != nil else { return }
            }
        }
    }

    deinit { server.refuse() }

    var address: String { server.url + "/" }

    private static func answer(
        _ head: String, _ directory: String, _ ignoresRanges: Bool
    ) -> [UInt8] {
        let name = head.split(separator: " ").dropFirst().first.map { String($0.dropFirst()) } ?? ""
        let path = directory + "/" + name
        let whole =
            name == "index"
            ? (try? FileManager.default.contentsOfDirectory(atPath: directory))
                .map { Array($0.map { $0 + "\n" }.joined().utf8) }
            : FileManager.default.contents(atPath: path).map(Array.init)
        guard let whole else { return response("404 Not Found", [], []) }
        guard !ignoresRanges, let range = range(in: head) else {
            return response("200 OK", [], whole)
        }
        // RFC 9110 §14.4: the length of the whole stands also where nothing was in the range.
        guard range.lowerBound < whole.count else {
            return response(
                "416 Range Not Satisfiable", ["Content-Range: bytes */\(whole.count)"], [])
        }
        let part = range.clamped(to: 0..<whole.count)
        let field = "Content-Range: bytes \(part.lowerBound)-\(part.upperBound - 1)/\(whole.count)"
        return response("206 Partial Content", [field], Array(whole[part]))
    }

    private static func range(in head: String) -> Range<Int>? {
        guard let line = head.split(separator: "\r\n").first(where: { $0.hasPrefix("Range: ") })
        else { return nil }
        let ends = line.dropFirst("Range: bytes=".count).split(separator: "-").compactMap {
            Int($0)
        }
        return ends.count == 2 ? ends[0]..<ends[1] + 1 : nil
    }

    private static func response(_ status: String, _ fields: [String], _ body: [UInt8]) -> [UInt8] {
        let lines = ["HTTP/1.1 \(status)", "Content-Type: text/plain"] + fields
        let head = (lines + ["Content-Length: \(body.count)", "", ""]).joined(separator: "\r\n")
        return Array(head.utf8) + body
    }
}
