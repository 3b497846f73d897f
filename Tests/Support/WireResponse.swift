import WakeSystem

/// A response as it came over the wire.
package struct WireResponse: Sendable {
    package let status: Int
    /// Status line and fields, with the empty line.
    package let head: String
    package var body: [UInt8] = []

    /// nil when `head` is no HTTP/1.1 response head.
    package init?(head: String) {
        guard head.hasPrefix("HTTP/1.1 "), let status = Int(head.dropFirst(9).prefix(3))
        else { return nil }
        self.status = status
        self.head = head
    }

    package var fields: [(name: String, value: String)] {
        head.split(separator: "\r\n").dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            let value = parts.count > 1 ? parts[1] : ""
            return (String(parts.first ?? ""), String(value.drop { $0 == " " }))
        }
    }

    /// The value of the first field called `name`, in any case.
    package subscript(name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    package var text: String { String(decoding: body, as: UTF8.self) }
}
