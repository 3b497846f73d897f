/// Answers in pieces.
extension Reactor {
    func startPieces(on connection: Connection, _ answer: StreamedAnswer, head: Response) {
        // Nobody would notice that such a client is gone; it may also have left already.
        guard !connection.peerEnded else {
            answer.lose()
            return close(connection)
        }
        if connection.isHead {
            answer.lose()
            return write(head.closing(), to: connection)
        }
        let closes = head.closes || connection.closesAfterAnswer || state != .serving
        connection.closesAfterAnswer = closes
        output.append(contentsOf: head.head)
        output.append(contentsOf: date.line)
        // RFC 9112 §6.1: a client of HTTP/1.0 knows no chunks; §6.3: its content ends with the
        // connection.
        if !connection.isVersion10 { output.append(text: "Transfer-Encoding: chunked\r\n") }
        output.append(text: closes ? "Connection: close\r\n\r\n" : "\r\n")
        connection.phase = .piecewise(answer)
        connection.timing = .none
        sendPieces(of: answer, on: connection)
    }

    /// Something is to be sent; it is, once the connection has its turn.
    func lookAtPieces(of id: ConnectionID, sequence: UInt32) {
        guard let connection = connections[id], connection.sequence == sequence,
            case .piecewise = connection.phase
        else { return }
        queue(connection)
    }

    /// Sends what waits, as one chunk, when nothing sent before is waiting: a far end that does not
    /// read leaves it with the answer, whose bound it is.
    func sendPieces(of answer: StreamedAnswer, on connection: Connection) {
        guard !connection.isBlocked else { return }
        let (bytes, end) = answer.take()
        if !bytes.isEmpty {
            // RFC 9112 §7.1: a size of 0 would be the last chunk.
            if !connection.isVersion10 {
                output.append(hexadecimal: bytes.count)
                output.append(text: "\r\n")
            }
            output.append(contentsOf: bytes)
            if !connection.isVersion10 { output.append(text: "\r\n") }
            // The next pause begins.
            connection.timing = .none
        }
        guard let end else { return }
        let isComplete = end == .complete
        if isComplete, !connection.isVersion10 { output.append(text: "0\r\n\r\n") }
        // RFC 9112 §8: chunks without a last one are an incomplete message.
        let closes = !isComplete || connection.closesAfterAnswer || state != .serving
        connection.phase = closes ? .ending : .reading
        connection.timing = .none
        if closes, connection.isReadable { connection.lingers = true }
    }
}
