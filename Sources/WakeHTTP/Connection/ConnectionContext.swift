import WakeSystem

/// Limits, time and output buffer for the calls to all `HTTPConnection`s, one after the other.
package final class ConnectionContext {
    /// The delimiter of a response's content (RFC 9112 §6.3).
    enum ContentEnd {
        /// Nothing is said: 204 and 304.
        case none
        case length(Int)
        case lastChunk
        case endOfConnection
    }

    let limits: HTTPLimits
    let counters: HTTPCounters
    private let random: @Sendable () -> UInt64
    /// Nanoseconds of a clock that does not go back.
    private(set) var now: UInt64 = 0
    private var date = DateField()
    /// The server stops: every response is the last of its connection.
    private(set) var isDraining = false
    /// Bytes to be sent on the connection of the current call; empty between two connections.
    package private(set) var output: [UInt8] = []

    /// Responses to pipelined requests are sent together, up to half of this.
    static let outputCapacity = 131_072

    package init(
        limits: HTTPLimits, counters: HTTPCounters,
        random: @escaping @Sendable () -> UInt64 = SystemRandom.word
    ) {
        self.limits = limits
        self.counters = counters
        self.random = random
        output.reserveCapacity(ConnectionContext.outputCapacity)
    }

    package func setTime(_ now: UInt64, wallSeconds: Int) {
        self.now = now
        date.update(to: wallSeconds)
    }

    func beginDraining() { isDraining = true }

    /// Whether the output should be sent before more is appended.
    var isOutputLarge: Bool { output.count >= ConnectionContext.outputCapacity / 2 }

    /// Nanoseconds until the next keep-alive comment: random, so that streams show no rhythm.
    func keepAlivePause() -> UInt64 {
        let longest = UInt64(limits.streamKeepAliveSeconds) * 1_000_000_000
        let jitter = UInt64(limits.streamKeepAliveJitterSeconds) * 1_000_000_000
        return longest - min(longest, random() % (jitter + 1))
    }

    func append(_ bytes: [UInt8]) { output.append(contentsOf: bytes) }

    func append(text: StaticString) { output.append(text: text) }

    func appendHead(of response: Response, _ end: ContentEnd, closes: Bool) {
        output.append(contentsOf: response.head)
        output.append(contentsOf: date.line)
        switch end {
        case .none, .endOfConnection: break
        case .length(let length):
            output.append(text: "Content-Length: ")
            output.append(decimal: length)
            output.append(text: "\r\n")
        case .lastChunk: output.append(text: "Transfer-Encoding: chunked\r\n")
        }
        output.append(text: closes ? "Connection: close\r\n\r\n" : "\r\n")
    }

    /// RFC 9112 §7.1. A chunk of no bytes is the last one.
    func appendChunk(_ bytes: [UInt8]) {
        output.append(hexadecimal: bytes.count)
        output.append(text: "\r\n")
        output.append(contentsOf: bytes)
        output.append(text: "\r\n")
    }

    /// Wipes the output: responses may repeat what a request carried.
    package func clearOutput() {
        guard !output.isEmpty else { return }
        output.wipe()
        if output.capacity > ConnectionContext.outputCapacity * 2 {
            output = []
            output.reserveCapacity(ConnectionContext.outputCapacity)
        } else {
            output.removeAll(keepingCapacity: true)
        }
    }
}
