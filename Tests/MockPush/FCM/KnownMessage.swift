/// A body that was looked at in full and was good: another that differs in a plain push token only
/// is good, too.
struct KnownMessage {
    private let head: [UInt8]
    private let tail: [UInt8]

    /// Nil when the push token does not stand in the body exactly once and as it is.
    init?(_ body: [UInt8], token: [UInt8]) {
        guard token.allSatisfy(Self.isPlain), token.count >= 8 else { return nil }
        var places: [Int] = []
        var start = 0
        while start + token.count <= body.count {
            if body[start] == token[0], body[start..<start + token.count].elementsEqual(token) {
                places.append(start)
            }
            start += 1
        }
        guard places.count == 1, let place = places.first, place > 0,
            body[place - 1] == UInt8(ascii: "\""), place + token.count < body.count,
            body[place + token.count] == UInt8(ascii: "\"")
        else { return nil }
        head = Array(body[..<place])
        tail = Array(body[(place + token.count)...])
    }

    /// The push token of another such body; nil when it must be looked at in full.
    func token(of body: [UInt8]) -> [UInt8]? {
        let count = body.count - head.count - tail.count
        guard count > 0, count <= 4096, Bytes.same(body.span, head, head.indices),
            body[(head.count + count)...].elementsEqual(tail)
        else { return nil }
        let token = body[head.count..<head.count + count]
        return token.allSatisfy(Self.isPlain) ? Array(token) : nil
    }

    /// Stands for itself in a JSON string.
    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
}
