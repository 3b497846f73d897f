/// Where an engine sends, and how.
package struct EngineConfiguration: Sendable {
    package enum Transport: Sendable {
        /// HTTP/2 with prior knowledge: behind a proxy that speaks TLS, and in tests.
        case plain
        /// - `authorityFile`: certificates (PEM) to trust instead of the system's.
        case tls(authorityFile: String?)
    }

    package var host: String
    package var port: UInt16
    package var transport: Transport
    package var shape: RequestShape
    package var connections = 1
    package var limits = ConnectionLimits()
    /// Milliseconds for a connection to be made, TLS included.
    package var connectMilliseconds: UInt64 = 10_000
    /// Milliseconds from one attempt of a connection to its next, doubled by each failure in a row:
    /// Apple takes rapid reconnects for an attack.
    package var reconnectMilliseconds: UInt64 = 1000
    package var longestReconnectMilliseconds: UInt64 = 60_000
    /// Milliseconds that pushes wait without any connection before they fail.
    package var patienceMilliseconds: UInt64 = 60_000
    package var clock = EngineClock.system

    package init(host: String, port: UInt16, transport: Transport, shape: RequestShape) {
        self.host = host
        self.port = port
        self.transport = transport
        self.shape = shape
    }

    /// Pushes that may wait for their outcome; `submit` refuses more.
    package static let waitingPushes = 4_000_000
}
