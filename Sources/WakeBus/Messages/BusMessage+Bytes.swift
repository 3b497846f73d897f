/// A message as bytes.
extension BusMessage {
    /// - Parameter serial: not 0.
    /// - Throws: `.malformed` for a message that is none; `.tooLarge` beyond
    ///   `BusLimits.messageBytes`.
    package func encoded(
        serial: UInt32, order: BusByteOrder = .little
    ) throws(BusError) -> [UInt8] {
        guard serial != 0 else { throw .malformed(.serial) }
        guard let signature else { throw .malformed(.signature) }
        var values = BusEncoder(order: order)
        try values.append(body, as: signature)
        var head = BusEncoder(order: order)
        for byte in [order.rawValue, kind.rawValue, flags.rawValue, 1] {
            try head.append(.byte(byte))
        }
        try head.append(.uint32(UInt32(truncatingIfNeeded: values.bytes.count)))
        try head.append(.uint32(serial))
        try head.append(.array(of: "(yv)", try fields(signature)))
        head.append(body: values.bytes)
        guard head.bytes.count <= BusLimits.messageBytes else { throw .tooLarge }
        return head.bytes
    }

    private func fields(_ signature: BusSignature) throws(BusError) -> [BusValue] {
        var fields: [BusValue] = []
        func add(_ field: BusField, _ value: BusValue) {
            fields.append(.structure([.byte(field.rawValue), .variant(value)]))
        }
        func add(
            _ field: BusField, _ name: [UInt8]?, _ isName: ([UInt8]) -> Bool
        ) throws(BusError) {
            guard let name else { return }
            guard isName(name) else { throw .malformed(.name) }
            add(field, .string(name))
        }
        if let path { add(.path, .objectPath(path)) }
        try add(.interface, interface, BusGrammar.isInterface)
        try add(.member, member, BusGrammar.isMember)
        try add(.errorName, errorName, BusGrammar.isInterface)
        if let replySerial { add(.replySerial, .uint32(replySerial)) }
        try add(.destination, destination, BusGrammar.isBusName)
        try add(.sender, sender, BusGrammar.isBusName)
        if !signature.bytes.isEmpty { add(.signature, .signature(signature.bytes)) }
        return fields
    }

    /// - Parameter bytes: exactly one message.
    /// - Returns: nil for a message of a kind that is not known.
    package static func decoded(_ bytes: [UInt8]) throws(BusError) -> BusMessage? {
        guard bytes.count >= BusPreamble.bytes else { throw .malformed(.truncated) }
        let preamble = try BusPreamble(bytes, at: 0)
        guard bytes.count >= preamble.messageBytes else { throw .malformed(.truncated) }
        guard bytes.count == preamble.messageBytes else { throw .malformed(.excess) }
        guard let kind = preamble.kind else { return nil }
        let header = try BusHeader(preamble, kind, bytes)
        var message = header.message
        var decoder = BusDecoder(
            bytes, order: preamble.order, range: preamble.headBytes..<bytes.count)
        message.body = try decoder.all(header.signature)
        return message
    }
}
