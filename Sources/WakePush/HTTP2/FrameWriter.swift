import WakeSystem

/// Appends frames to output (RFC 9113 §6).
package enum FrameWriter {
    /// The first bytes of a client (RFC 9113 §3.4).
    package static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    package static func head(
        length: Int, kind: UInt8, flags: UInt8, stream: UInt32, into bytes: inout [UInt8]
    ) {
        precondition(length >= 0 && length < 1 << 24, "no frame has such a length")
        bytes.append(UInt8(length >> 16))
        bytes.append(bigEndian: UInt16(truncatingIfNeeded: length))
        bytes.append(kind)
        bytes.append(flags)
        bytes.append(bigEndian: stream)
    }

    static func head(
        length: Int, kind: FrameKind, flags: UInt8 = 0, stream: UInt32 = 0,
        into bytes: inout [UInt8]
    ) { head(length: length, kind: kind.rawValue, flags: flags, stream: stream, into: &bytes) }

    package static func settings(
        _ entries: [(id: UInt16, value: UInt32)], into bytes: inout [UInt8]
    ) {
        head(length: entries.count * 6, kind: .settings, into: &bytes)
        for entry in entries {
            bytes.append(bigEndian: entry.id)
            bytes.append(bigEndian: entry.value)
        }
    }

    package static func settingsAcknowledgement(into bytes: inout [UInt8]) {
        head(length: 0, kind: .settings, flags: FrameFlag.acknowledged, into: &bytes)
    }

    package static func ping(_ opaque: UInt64, acknowledges: Bool, into bytes: inout [UInt8]) {
        let flags = acknowledges ? FrameFlag.acknowledged : 0
        head(length: 8, kind: .ping, flags: flags, into: &bytes)
        bytes.append(bigEndian: opaque)
    }

    package static func windowUpdate(stream: UInt32, increment: UInt32, into bytes: inout [UInt8]) {
        head(length: 4, kind: .windowUpdate, stream: stream, into: &bytes)
        bytes.append(bigEndian: increment)
    }

    package static func reset(stream: UInt32, code: UInt32, into bytes: inout [UInt8]) {
        head(length: 4, kind: .reset, stream: stream, into: &bytes)
        bytes.append(bigEndian: code)
    }

    package static func goAway(
        lastStream: UInt32, code: UInt32, debug: [UInt8] = [], into bytes: inout [UInt8]
    ) {
        head(length: 8 + debug.count, kind: .goAway, into: &bytes)
        bytes.append(bigEndian: lastStream)
        bytes.append(bigEndian: code)
        bytes.append(contentsOf: debug)
    }

    package static func headers(
        stream: UInt32, block: [UInt8], isWhole: Bool = true, ends: Bool, into bytes: inout [UInt8]
    ) {
        let flags = (isWhole ? FrameFlag.endHeaders : 0) | (ends ? FrameFlag.endStream : 0)
        head(length: block.count, kind: .headers, flags: flags, stream: stream, into: &bytes)
        bytes.append(contentsOf: block)
    }

    package static func continuation(
        stream: UInt32, block: [UInt8], isWhole: Bool, into bytes: inout [UInt8]
    ) {
        let flags = isWhole ? FrameFlag.endHeaders : 0
        head(length: block.count, kind: .continuation, flags: flags, stream: stream, into: &bytes)
        bytes.append(contentsOf: block)
    }

    package static func data(
        stream: UInt32, body: ArraySlice<UInt8>, ends: Bool, into bytes: inout [UInt8]
    ) {
        let flags = ends ? FrameFlag.endStream : 0
        head(length: body.count, kind: .data, flags: flags, stream: stream, into: &bytes)
        bytes.append(contentsOf: body)
    }
}
