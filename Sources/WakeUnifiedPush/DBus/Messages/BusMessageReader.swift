import WakeSystem

/// Splits a stream of bytes into messages.
package struct BusMessageReader {
    package enum Reading: Equatable {
        case message(BusMessage, bytes: Int)
        /// A message beyond `BusLimits` without its body; nil when its header is too large.
        case tooLarge(BusMessage?)
    }

    private var buffer: [UInt8] = []
    private var start = 0
    /// The rest of a message that is too large.
    private var skipping = 0

    package init() {}

    package mutating func feed(_ bytes: [UInt8]) {
        let skipped = min(skipping, bytes.count)
        skipping -= skipped
        buffer += bytes[skipped...]
    }

    /// The next message, nil when more bytes are needed. No more can be read after `.malformed`.
    package mutating func next() throws(BusError) -> Reading? {
        while buffer.count - start >= BusPreamble.bytes {
            let preamble = try BusPreamble(buffer, at: start)
            if preamble.fieldBytes > BusLimits.headerBytes {
                skip(preamble.messageBytes)
                if preamble.kind != nil { return .tooLarge(nil) }
                continue
            }
            if preamble.messageBytes > BusLimits.messageBytes {
                guard buffer.count - start >= preamble.headBytes else { return nil }
                let head = Array(buffer[start..<(start + preamble.headBytes)])
                skip(preamble.messageBytes)
                guard let kind = preamble.kind else { continue }
                return .tooLarge(try Self.head(preamble, kind, head))
            }
            guard buffer.count - start >= preamble.messageBytes else { return nil }
            let bytes = Array(buffer[start..<(start + preamble.messageBytes)])
            skip(preamble.messageBytes)
            if let reading = try Self.reading(bytes, preamble) { return reading }
        }
        return nil
    }

    private static func reading(
        _ bytes: [UInt8], _ preamble: BusPreamble
    ) throws(BusError) -> Reading? {
        do throws(BusError) {
            return try BusMessage.decoded(bytes).map { .message($0, bytes: bytes.count) }
        } catch .tooLarge {
            guard let kind = preamble.kind else { return nil }
            return .tooLarge(try head(preamble, kind, bytes))
        }
    }

    /// The message without its body; nil when the header alone has too many values.
    private static func head(
        _ preamble: BusPreamble, _ kind: BusMessage.Kind, _ bytes: [UInt8]
    ) throws(BusError) -> BusMessage? {
        do throws(BusError) {
            return try BusHeader(preamble, kind, bytes).message
        } catch .tooLarge { return nil }
    }

    /// Drops `count` bytes from the front, also of those that have not come yet.
    private mutating func skip(_ count: Int) {
        let available = min(count, buffer.count - start)
        skipping = count - available
        start += available
        if start == buffer.count {
            buffer = []
            start = 0
        } else if start > BusLimits.headerBytes {
            buffer.removeFirst(start)
            start = 0
        }
    }
}

/// The byte order of a message, chosen by its sender; receivers must support both.
package enum BusByteOrder: UInt8, Sendable {
    case little = 0x6C
    case big = 0x42
}

/// The first sixteen bytes of a message (D-Bus Specification, "Message Format").
struct BusPreamble {
    static let bytes = 16

    let order: BusByteOrder
    /// nil for an unknown kind: such messages are ignored.
    let kind: BusMessage.Kind?
    let flags: BusMessage.Flags
    let serial: UInt32
    let fieldBytes: Int
    let bodyBytes: Int

    /// Bytes up to the body: the fields are padded to 8.
    var headBytes: Int { (Self.bytes + fieldBytes + 7) & -8 }
    var messageBytes: Int { headBytes + bodyBytes }

    /// - Parameter bytes: sixteen or more.
    init(_ bytes: [UInt8], at start: Int) throws(BusError) {
        guard let order = BusByteOrder(rawValue: bytes[start]) else { throw .malformed(.byteOrder) }
        let first = Array(bytes[start..<(start + Self.bytes)])
        guard first[1] != 0 else { throw .malformed(.header) }
        guard first[3] == 1 else { throw .malformed(.version) }
        self.order = order
        kind = BusMessage.Kind(rawValue: first[1])
        flags = BusMessage.Flags(rawValue: first[2])
        var decoder = BusDecoder(first, order: order, range: 4..<Self.bytes)
        bodyBytes = Int(try decoder.integer(UInt32.self))
        serial = try decoder.integer(UInt32.self)
        fieldBytes = Int(try decoder.integer(UInt32.self))
        // "This must not be zero."
        guard serial != 0 else { throw .malformed(.serial) }
        guard fieldBytes <= BusLimits.arrayBytes else { throw .malformed(.arrayLength) }
        guard messageBytes <= BusLimits.protocolMessageBytes
        else { throw .malformed(.messageLength) }
    }
}

enum BusField: UInt8 {
    case path = 1
    case interface, member, errorName, replySerial, destination, sender, signature, unixFDs
}

struct BusHeader {
    private(set) var message: BusMessage
    private(set) var signature = BusSignature.empty
    private var seen: Set<BusField> = []

    private static let entries: BusSignature = "a(yv)"

    /// - Parameter bytes: at least from the message's first byte to its body.
    init(_ preamble: BusPreamble, _ kind: BusMessage.Kind, _ bytes: [UInt8]) throws(BusError) {
        message = BusMessage(kind)
        message.flags = preamble.flags
        message.serial = preamble.serial
        // From the array's own length on.
        var decoder = BusDecoder(
            bytes, order: preamble.order, range: (BusPreamble.bytes - 4)..<preamble.headBytes)
        let fields = try decoder.next(Self.entries)
        try decoder.align(to: 8)
        guard case .array(_, let entries)? = fields.first else { throw .malformed(.header) }
        for entry in entries {
            guard case .structure(let pair) = entry, pair.count == 2,
                case .byte(let code) = pair[0], case .variant(let value) = pair[1], code != 0
            else { throw .malformed(.header) }
            // "It must accept and ignore" a header field code that it does not expect.
            if let field = BusField(rawValue: code) { try set(field, value) }
        }
        guard Self.required(kind).isSubset(of: seen) else { throw .malformed(.header) }
        guard preamble.bodyBytes == 0 || !signature.bytes.isEmpty else { throw .malformed(.header) }
    }

    private static func required(_ kind: BusMessage.Kind) -> Set<BusField> {
        switch kind {
        case .call: [.path, .member]
        case .reply: [.replySerial]
        case .error: [.errorName, .replySerial]
        case .signal: [.path, .interface, .member]
        }
    }

    private mutating func set(_ field: BusField, _ value: BusValue) throws(BusError) {
        guard seen.insert(field).inserted else { throw .malformed(.header) }
        switch (field, value) {
        case (.path, .objectPath(let path)):
            // "This path is reserved": a message with it never comes from a bus.
            guard !path.elementsEqual("/org/freedesktop/DBus/Local".utf8)
            else { throw .malformed(.header) }
            message.path = path
        case (_, .string(let name)): try set(field, name)
        case (.replySerial, .uint32(let serial)):
            guard serial != 0 else { throw .malformed(.serial) }
            message.replySerial = serial
        case (.signature, .signature(let types)): signature = try BusSignature(types)
        case (.unixFDs, .uint32(let count)):
            guard count == 0 else { throw .malformed(.descriptors) }
        default: throw .malformed(.header)
        }
    }

    private mutating func set(_ field: BusField, _ name: [UInt8]) throws(BusError) {
        let isLocal = name.elementsEqual("org.freedesktop.DBus.Local".utf8)
        guard field != .interface || !isLocal else { throw .malformed(.header) }
        let isValid: Bool
        switch field {
        case .interface: (message.interface, isValid) = (name, BusGrammar.isInterface(name))
        case .member: (message.member, isValid) = (name, BusGrammar.isMember(name))
        case .errorName: (message.errorName, isValid) = (name, BusGrammar.isInterface(name))
        case .destination: (message.destination, isValid) = (name, BusGrammar.isBusName(name))
        case .sender: (message.sender, isValid) = (name, BusGrammar.isBusName(name))
        default: throw .malformed(.header)
        }
        guard isValid else { throw .malformed(.name) }
    }
}
