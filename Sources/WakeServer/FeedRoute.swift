import WakeHTTP
import WakeModel

/// `/feed/head` and `/feed/b/<name>`: the same bytes for everybody. Conditional requests are not
/// looked at: a client's cache must not identify it.
struct FeedRoute: Sendable {
    static let prefix = Array("/feed/".utf8)
    private static let batchPrefix = Array("/feed/b/".utf8)

    let site: FeedSite

    func handle(_ request: Request, _ exchange: Exchange) {
        guard request.method == .get || request.method == .head else {
            exchange.respond(.methodNotAllowed(allow: "GET, HEAD"))
            return
        }
        if request.isPath("/feed/head") {
            exchange.respond(site.head() ?? Answers.problem(.feedUnavailable))
        } else if request.path.starts(with: Self.batchPrefix) {
            let name = request.path.dropFirst(Self.batchPrefix.count)
            exchange.respond(batch(name, range: request.onlyValue(of: "range")))
        } else {
            exchange.respond(Answers.problem(.notFound))
        }
    }

    private func batch(_ name: ArraySlice<UInt8>, range: ArraySlice<UInt8>?) -> Response {
        guard let (file, size) = site.batch(named: name) else { return Answers.problem(.notFound) }
        // A name holds its content's hash: it never changes.
        var fields: [(StaticString, String)] = [
            ("Content-Type", "application/octet-stream"),
            ("Cache-Control", "public, max-age=31536000, immutable"),
            ("X-Content-Type-Options", "nosniff"),
            ("Accept-Ranges", "bytes"),
        ]
        switch ByteRange(range, size: size) {
        case .whole:
            return Response(
                200, fields: fields, body: .file(FileBody(file, count: Int64(size))))
        case .part(let first, let count):
            fields.append(("Content-Range", "bytes \(first)-\(first + count - 1)/\(size)"))
            let body = FileBody(file, offset: Int64(first), count: Int64(count))
            return Response(206, fields: fields, body: .file(body))
        case .unsatisfiable:
            return .problem(
                416, title: Problem.rangeNotSatisfiable.title,
                code: Problem.rangeNotSatisfiable.code,
                fields: [("Content-Range", "bytes */\(size)")])
        }
    }
}
