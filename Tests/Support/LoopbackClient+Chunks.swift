extension LoopbackClient {
    /// The next chunk of a body (RFC 9112 §7.1), read strictly; empty for the last one.
    package func receiveChunk() throws -> [UInt8] {
        let line = try receive(through: "\r\n").dropLast()
        guard let size = Int(line, radix: 16), String(size, radix: 16) == line else {
            throw Failure.notHTTP
        }
        let bytes = try receive(exactly: size)
        guard try receive(exactly: 2) == [0x0D, 0x0A] else { throw Failure.notHTTP }
        return bytes
    }

    /// All chunks up to the last one.
    package func receiveChunks() throws -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let chunk = try receiveChunk()
            if chunk.isEmpty { return all }
            all += chunk
        }
    }
}
