/// Appends frames to bytes on their way out (RFC 9113 §6).
package enum FrameWriter {
    /// RFC 9113 §3.4: what a client says first.
    package static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    package static func head(
        length: Int, kind: UInt8, flags: UInt8, stream: UInt32, into bytes: inout [UInt8]
    ) {
        precondition(length >= 0 && length < 1 << 24, "no frame has such a length")
        bytes.append(UInt8(length >> 16))
        bytes.append(big: UInt16(truncatingIfNeeded: length))
        bytes.append(kind)
        bytes.append(flags)
        bytes.append(big: stream)
    }

    package static func settings(
        _ entries: [(id: UInt16, value: UInt32)], into bytes: inout [UInt8]
    ) {
        head(
            length: entries.count * 6, kind: FrameKind.settings, flags: 0, stream: 0,
            into: &bytes)
        for entry in entries {
            bytes.append(big: entry.id)
            bytes.append(big: entry.value)
        }
    }

    package static func settingsAcknowledgement(into bytes: inout [UInt8]) {
        head(
            length: 0, kind: FrameKind.settings, flags: FrameFlag.acknowledged, stream: 0,
            into: &bytes)
    }

    package static func ping(
        _ opaque: UInt64, acknowledges: Bool, into bytes: inout [UInt8]
    ) {
        head(
            length: 8, kind: FrameKind.ping, flags: acknowledges ? FrameFlag.acknowledged : 0,
            stream: 0, into: &bytes)
        bytes.append(big: opaque)
    }

    package static func windowUpdate(
        stream: UInt32, increment: UInt32, into bytes: inout [UInt8]
    ) {
        head(length: 4, kind: FrameKind.windowUpdate, flags: 0, stream: stream, into: &bytes)
        bytes.append(big: increment)
    }

    package static func reset(stream: UInt32, code: UInt32, into bytes: inout [UInt8]) {
        head(length: 4, kind: FrameKind.reset, flags: 0, stream: stream, into: &bytes)
        bytes.append(big: code)
    }

    package static func goAway(lastStream: UInt32, code: UInt32, into bytes: inout [UInt8]) {
        head(length: 8, kind: FrameKind.goAway, flags: 0, stream: 0, into: &bytes)
        bytes.append(big: lastStream)
        bytes.append(big: code)
    }

    package static func headers(
        stream: UInt32, block: [UInt8], isWhole: Bool = true, ends: Bool,
        into bytes: inout [UInt8]
    ) {
        let flags =
            (isWhole ? FrameFlag.endHeaders : 0) | (ends ? FrameFlag.endStream : 0)
        head(
            length: block.count, kind: FrameKind.headers, flags: flags, stream: stream,
            into: &bytes)
        bytes.append(contentsOf: block)
    }

    package static func continuation(
        stream: UInt32, block: [UInt8], isWhole: Bool, into bytes: inout [UInt8]
    ) {
        head(
            length: block.count, kind: FrameKind.continuation,
            flags: isWhole ? FrameFlag.endHeaders : 0, stream: stream, into: &bytes)
        bytes.append(contentsOf: block)
    }

    package static func data(
        stream: UInt32, body: ArraySlice<UInt8>, ends: Bool, into bytes: inout [UInt8]
    ) {
        head(
            length: body.count, kind: FrameKind.data, flags: ends ? FrameFlag.endStream : 0,
            stream: stream, into: &bytes)
        bytes.append(contentsOf: body)
    }
}
