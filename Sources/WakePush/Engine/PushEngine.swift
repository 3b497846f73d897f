package import WakeSystem

/// Sends pushes to one service over its own HTTP/2 connections, on one thread. Every accepted push
/// has exactly one outcome, with the caller's reference. The engine sends nothing twice: after
/// `retry` the caller submits the push again.
package final class PushEngine: Sendable {
    private let mailbox: Mailbox<EngineCommand>

    /// - Parameter onOutcomes: called on the engine's thread; must return soon, may call `submit`.
    package init(
        _ configuration: EngineConfiguration, onOutcomes: @escaping @Sendable (PushOutcomes) -> Void
    ) throws(PushEngineError) {
        precondition(configuration.connections > 0, "an engine without connections")
        precondition(configuration.template.fitsFrames, "a request larger than a frame")
        var context: TLSContext?
        if case .tls(let authorityFile) = configuration.transport {
            context = try TLSContext(authorityFile: authorityFile)
        }
        let shared = context
        mailbox = try mapError(PushEngineError.system) { () throws(SystemError) in
            let poller = try Poller()
            let mailbox = Mailbox<EngineCommand>(
                capacity: EngineConfiguration.waitingPushes, notify: { poller.wake() })
            try SystemThread.start {
                PushLoop(configuration, shared, poller, mailbox, deliver: onOutcomes).run()
            }
            return mailbox
        }
    }

    deinit { cancel() }

    /// Accepts a batch, from any thread; false when too many pushes wait
    /// (`EngineConfiguration.waitingPushes`) or the engine was cancelled.
    package func submit(_ batch: PushBatch) -> Bool {
        mailbox.post(.batch(batch), weight: batch.count) == .posted
    }

    package var waiting: Int { mailbox.weight }

    /// Replaces the template for later pushes, on open connections too: its credential, or a time
    /// that has come nearer.
    package func update(_ template: RequestTemplate) {
        precondition(template.fitsFrames, "a request larger than a frame")
        mailbox.post(.template(template), weight: 0)
    }

    /// Ends at once: waiting pushes fail with `.cancelled`, those in flight with `retry`.
    package func cancel() { mailbox.close() }
}

/// The endpoint, connections and time limits of an engine.
package struct EngineConfiguration: Sendable {
    package enum Transport: Sendable {
        /// HTTP/2 with prior knowledge: behind a proxy that adds TLS, and in tests.
        case plain
        /// - `authorityFile`: certificates (PEM) to trust instead of the system's.
        case tls(authorityFile: String?)
    }

    package var host: String
    package var port: UInt16
    package var transport: Transport
    package var template: RequestTemplate
    /// The most; further ones are made when the pushes that wait need them.
    package var connections = 1
    package var limits = ConnectionLimits()
    /// Milliseconds for a connection to be made, TLS included.
    package var connectMilliseconds: UInt64 = 10_000
    /// Milliseconds between attempts, doubled by each failure in a row (rapid ones look hostile).
    package var reconnectMilliseconds: UInt64 = 1000
    package var longestReconnectMilliseconds: UInt64 = 60_000
    /// Milliseconds without any connection after which waiting pushes fail.
    package var patienceMilliseconds: UInt64 = 60_000
    /// Milliseconds that pushes wait without any answer, whatever connections are open.
    package var answerPatienceMilliseconds: UInt64 = 120_000
    package var time = TimeSource.system

    package init(host: String, port: UInt16, transport: Transport, template: RequestTemplate) {
        self.host = host
        self.port = port
        self.transport = transport
        self.template = template
    }

    /// The streams of a connection that every peer should allow (RFC 9113 §6.5.2).
    static let usualStreams = 100

    /// The most pushes that may wait for their outcome; `submit` refuses more.
    package static let waitingPushes = 4_000_000
}

enum EngineCommand: Sendable {
    case batch(PushBatch)
    case template(RequestTemplate)
    case resolved(connection: Int, Result<[SocketAddress], PushFailure>)
}

/// The reason why an engine cannot be made.
package enum PushEngineError: Error, Hashable, Sendable {
    /// `package` is Debian's name for OpenSSL 3.
    case libraryMissing(package: String, isIncomplete: Bool)
    case authorityFile(OpenSSLReason)
    /// TLS cannot be set up at all.
    case refused(OpenSSLReason)
    /// The kernel refused a thread, an epoll or an eventfd.
    case system(Int32)

    fileprivate static func system(_ error: SystemError) -> PushEngineError {
        .system(error.number)
    }

    package var name: StaticString {
        switch self {
        case .libraryMissing: "library-missing"
        case .authorityFile: "authority-file"
        case .refused: "openssl-refused"
        case .system: "system"
        }
    }

    package var message: String {
        switch self {
        case .libraryMissing(let package, let isIncomplete):
            "OpenSSL 3 or 4 is \(isIncomplete ? "incomplete" : "not installed")\n"
                + "hint: apt install \(package)"
        case .authorityFile(let reason):
            "the file of ca cannot be read or holds no certificate: \(reason.text)\n"
                + "hint: ca takes a PEM file; without it the system's authorities are trusted"
        case .refused(let reason):
            "OpenSSL refuses TLS: \(reason.text)\nhint: \(OpenSSLReason.hint)"
        case .system(let number):
            "the kernel refused a thread or a descriptor (errno \(number))\n"
                + "hint: raise the limits of this service"
        }
    }
}
