package import Glibc
import WakeSystem

/// Answers one request through the responder; called on the loop's thread, so it must not block.
package typealias RequestHandler = @Sendable (Request, Responder) -> Void

/// An address to listen on and its handler.
package struct ListenerConfiguration: Sendable {
    package enum Address: Sendable {
        /// `::` serves IPv4 too; port 0 lets the system choose.
        case tcp(host: String, port: UInt16)
        /// The socket file has exactly `mode`. A file without a listener is replaced.
        case unix(path: String, mode: mode_t)
    }

    package var address: Address
    /// Whether every connection must start with a PROXY protocol v2 header.
    package var proxyProtocol: Bool
    /// Bound of a request body in bytes; nil for the server's.
    package var bodyBytes: Int?
    /// A path with a bound of its own.
    package var largeBodies: BodyMemoryBudget?
    /// Connections that this listener has for itself, and the last descriptors with them: nobody
    /// at another listener can take its places. nil: `HTTPLimits.connections`.
    package var reserved: Int?
    package var handler: RequestHandler

    package init(
        _ address: Address, proxyProtocol: Bool = false, bodyBytes: Int? = nil,
        largeBodies: BodyMemoryBudget? = nil, reserved: Int? = nil,
        handler: @escaping RequestHandler
    ) {
        self.address = address
        self.proxyProtocol = proxyProtocol
        self.bodyBytes = bodyBytes
        self.largeBodies = largeBodies
        self.reserved = reserved
        self.handler = handler
    }

    func parserLimits(_ limits: HTTPLimits) -> ParserLimits {
        ParserLimits(
            headBytes: limits.headBytes, fieldCount: limits.fieldCount,
            targetBytes: limits.targetBytes, bodyBytes: bodyBytes ?? limits.bodyBytes,
            largePath: largeBodies?.path.bytes ?? [], largeBodyBytes: largeBodies?.bytes ?? 0)
    }
}
