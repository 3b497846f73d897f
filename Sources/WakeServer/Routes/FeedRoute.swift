import WakeHTTP
import WakeModel
import WakeSystem

/// `/feed/head`, `/feed/keys`, `/feed/ohttp-keys`, `/feed/b/<name>`, and the log of
/// heads below `/feed/checkpoint` and `/feed/tile/`: the same bytes for everybody.
struct FeedRoute: Sendable {
    static let prefix = Array("/feed/".utf8)
    private static let batchPrefix = Array("/feed/b/".utf8)
    private static let tilePrefix = Array("/feed/tile/".utf8)

    let files: FeedFileServer

    func handle(_ request: Request, _ responder: Responder) {
        let response = Response.read(request) {
            if request.isPath("/feed/head") { return files.head() ?? .problem(.feedUnavailable) }
            if request.isPath("/feed/keys") { return small(files.keys) }
            if request.isPath("/feed/ohttp-keys") { return small(files.gatewayKeys) }
            if request.isPath("/feed/checkpoint") { return small(files.checkpoint) }
            if request.path.starts(with: Self.tilePrefix) {
                return tile(request.path.dropFirst(Self.prefix.count))
            }
            guard request.path.starts(with: Self.batchPrefix) else { return .problem(.notFound) }
            let name = request.path.dropFirst(Self.batchPrefix.count)
            return batch(name, range: request.onlyValue(of: "range"))
        }
        responder.respond(response)
    }

    private func small(_ file: () throws(FileError) -> Response?) -> Response {
        do throws(FileError) {
            return try file() ?? .problem(.notFound)
        } catch { return .problem(.overloaded) }
    }

    /// A tile never changes, and neither does a partial one: its width is part of its name.
    private func tile(_ path: ArraySlice<UInt8>) -> Response {
        do throws(FileError) {
            guard let (file, size) = try files.tile(String(decoding: path, as: UTF8.self)) else {
                return .problem(.notFound)
            }
            return Response(
                200, fields: Self.immutable, body: .file(FileBody(file, count: Int64(size))))
        } catch { return .problem(.overloaded) }
    }

    private static let immutable: [(StaticString, String)] = [
        ("Content-Type", "application/octet-stream"),
        ("Cache-Control", "public, max-age=31536000, immutable"),
        ("X-Content-Type-Options", "nosniff"),
    ]

    private func batch(_ name: ArraySlice<UInt8>, range: ArraySlice<UInt8>?) -> Response {
        let file: OpenFile
        let size: Int
        do throws(FileError) {
            guard let batch = try files.batch(named: name) else { return .problem(.notFound) }
            (file, size) = batch
        } catch { return .problem(.overloaded) }
        // A name holds its content's hash: it never changes.
        var fields = Self.immutable + [("Accept-Ranges", "bytes")]
        switch ByteRange(range, size: size) {
        case .whole:
            return Response(200, fields: fields, body: .file(FileBody(file, count: Int64(size))))
        case .part(let first, let count):
            fields.append(("Content-Range", "bytes \(first)-\(first + count - 1)/\(size)"))
            let body = FileBody(file, offset: Int64(first), count: Int64(count))
            return Response(206, fields: fields, body: .file(body))
        case .unsatisfiable:
            let problem = Problem.rangeNotSatisfiable
            return .problem(
                416, title: problem.title, code: problem.code,
                fields: [("Content-Range", "bytes */\(size)")])
        }
    }
}

/// The byte range of a `Range` field (RFC 9110 §14.1.2).
enum ByteRange: Equatable {
    /// No range, or one that may be ignored: the whole is sent.
    case whole
    case part(first: Int, count: Int)
    /// The range starts beyond the end: 416.
    case unsatisfiable

    /// - Parameter value: of the field; nil when absent. `size`: bytes of the representation.
    init(_ value: ArraySlice<UInt8>?, size: Int) {
        // RFC 9110 §14.2: other units, several ranges and malformed ones may be ignored.
        self = .whole
        let unit = Array("bytes=".utf8)
        guard let value, value.starts(with: unit) else { return }
        let parts = value.dropFirst(unit.count).split(
            separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count == 2 else { return }
        switch (Self.number(parts[0]), Self.number(parts[1])) {
        case (let first?, _) where parts[1].isEmpty: self = Self.clamp(first, size - 1, size)
        case (let first?, let last?) where first <= last:
            self = Self.clamp(first, min(last, size - 1), size)
        case (nil, let suffix?) where parts[0].isEmpty:
            self = suffix == 0 ? .unsatisfiable : Self.clamp(max(0, size - suffix), size - 1, size)
        default: self = .whole
        }
    }

    private static func clamp(_ first: Int, _ last: Int, _ size: Int) -> ByteRange {
        first < size ? .part(first: first, count: last - first + 1) : .unsatisfiable
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        guard (1...18).contains(digits.count), digits.allSatisfy(\.isDigit) else { return nil }
        return digits.reduce(0) { 10 * $0 + Int($1 - 0x30) }
    }
}
