import WakeSystem

/// A request as it came over the wire, for servers of tests.
package struct WireRequest: Sendable {
    package let method: String
    package let path: String
    /// Request line and fields, with the empty line.
    package let head: String
    package let body: [UInt8]

    /// Reads one from the connection; nil at its end.
    package init?(from peer: LoopbackClient) {
        guard let head = try? peer.receive(through: "\r\n\r\n") else { return nil }
        let words = head.prefix { $0 != "\r\n" }.split(separator: " ")
        guard words.count == 3 else { return nil }
        method = String(words[0])
        path = String(words[1])
        self.head = head
        let length = Self.field("content-length", in: head).flatMap { Int($0) } ?? 0
        guard let body = try? peer.receive(exactly: length) else { return nil }
        self.body = body
    }

    /// The value of the first field called `name`, in any case.
    package subscript(name: String) -> String? { Self.field(name.lowercased(), in: head) }

    private static func field(_ name: String, in head: String) -> String? {
        for line in head.split(separator: "\r\n").dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == name else { continue }
            return String(parts[1].drop { $0 == " " })
        }
        return nil
    }
}
