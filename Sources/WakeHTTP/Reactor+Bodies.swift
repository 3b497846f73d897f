/// Large bodies: who may send one, and how many at once.
extension Reactor {
    /// Whether the body of the request in work may be kept. Decided once, when its head is
    /// complete; refuses the request otherwise.
    func admitsBody(of connection: Connection, _ bytes: Span<UInt8>) -> Bool {
        let head = connection.parser.head
        guard connection.parser.stage == .body, head.isLarge, connection.place == nil else {
            return true
        }
        let listener = listeners[connection.listener]
        guard let large = listener.configuration.largeBodies else { return true }
        var bare = head
        bare.body = head.body.lowerBound..<head.body.lowerBound
        let request = Request(
            bytes: Array(copying: bytes.extracting(0..<head.body.lowerBound)), head: bare)
        switch large.screen(request) {
        case .refused(let refusal):
            refuse(connection, with: refusal)
            return false
        case .admitted(let held):
            guard let place = listener.largeBodyPlaces?.take(holding: held) else {
                refuse(connection, .overloaded)
                return false
            }
            connection.place = place
            return true
        }
    }

    /// Keeps the beginning of a request until the rest of it comes.
    func keep(_ bytes: Span<UInt8>, for connection: Connection) {
        if connection.parser.stage == .body {
            // Room for all of it: growing step by step would copy a large body again and again.
            connection.pending.reserveCapacity(
                connection.parser.head.body.upperBound + Reactor.inputBytes)
        }
        connection.pending.append(span: bytes)
    }

    /// Seconds for the body in work: a large one has more time, at the pace a client must keep.
    func bodySeconds(of connection: Connection) -> Int {
        limits.bodySeconds + connection.parser.head.body.count / limits.bodyBytesPerSecond
    }
}
