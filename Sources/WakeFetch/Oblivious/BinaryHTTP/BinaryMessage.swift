import WakeSystem

/// A message of binary HTTP (RFC 9292) as places in its bytes, which stay their owner's: they hold
/// tokens, and are wiped there. Of known length or not; what breaks a rule is no message.
package struct BinaryMessage: Sendable, Equatable {
    /// The first line of HTTP/1.1.
    package enum Control: Sendable, Equatable {
        case request(
            method: Range<Int>, scheme: Range<Int>, authority: Range<Int>, path: Range<Int>)
        case response(status: UInt16)
    }

    /// A field line.
    package struct Field: Sendable, Equatable {
        package let name: Range<Int>
        package let value: Range<Int>
    }

    package let control: Control
    package let fields: [Field]
    /// One run of bytes, or of a message of unknown length as many as it was sent in.
    package let content: [Range<Int>]
    package let trailers: [Field]

    /// The content as one run of bytes; a copy.
    package func content(in bytes: Span<UInt8>) -> [UInt8] {
        var content: [UInt8] = []
        content.reserveCapacity(self.content.reduce(0) { $0 + $1.count })
        for range in self.content { content.append(span: bytes.extracting(range)) }
        return content
    }

    /// The value of the field called `name` when there is exactly one, else nil.
    package func onlyValue(of name: StaticString, in bytes: Span<UInt8>) -> Range<Int>? {
        let found = fields.filter { bytes.extracting($0.name).equals(name) }
        return found.count == 1 ? found[0].value : nil
    }

    package func has(_ name: StaticString, in bytes: Span<UInt8>) -> Bool {
        fields.contains { bytes.extracting($0.name).equals(name) }
    }
}

/// The rule that a message breaks.
package enum BinaryMessageError: Error, Sendable, Equatable, CaseIterable {
    case truncated
    /// A framing indicator beyond 3 (RFC 9292 §3.3).
    case framing
    /// Method, scheme, authority or path (RFC 9113 §8.3.1), or a status that is none.
    case control
    /// A name or value that HTTP/2 does not take (RFC 9113 §8.2.1), or a connection's own (§8.2.2).
    case field
    case tooManyFields
    /// A length beyond what the section has.
    case length
    /// Bytes after the message that are not zeros (RFC 9292 §3.8).
    case padding
}
