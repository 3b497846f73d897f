import CLinux
import WakeSystem

/// An accepted socket, its connection's state, and the bytes that the kernel has not taken.
final class ConnectionSocket {
    typealias Key = SlotMap<ConnectionSocket>.Key

    enum WriteResult {
        case written
        /// The number of bytes taken by this call.
        case blocked(after: Int)
        case failed
    }

    let key: Key
    let listener: Listener
    /// The hash of the client's address prefix.
    private(set) var source: PrefixHash?
    var http: HTTPConnection
    private let descriptor: Descriptor
    private(set) var isOpen = true
    /// Edge-triggered epoll said so and no read has come back short since.
    private(set) var isReadable = false
    private var unsent: [UInt8] = []
    private var unsentStart = 0
    private var file: FileTransfer?
    /// Writing stopped to let other connections continue, not because the socket was full.
    private(set) var hasYielded = false
    /// Whether it waits in the reactor's ready list.
    private var isQueued = false

    private struct FileTransfer {
        let file: OpenFile
        var offset: Int64
        var remaining: Int64
    }

    /// File bytes sent to one connection before others continue.
    private static let fileBytesPerTurn: Int64 = 1 << 20

    init(key: Key, descriptor: consuming Descriptor, listener: Listener) {
        self.key = key
        self.descriptor = descriptor
        self.listener = listener
        http = HTTPConnection(
            limits: listener.limits,
            awaitsProxyHeader: listener.configuration.proxyProtocol)
    }

    /// - Returns: false when the kernel is out of memory or watches.
    func watch(by poller: Poller) -> Bool {
        poller.add(descriptor.number, .edges, token: key.rawValue)
    }

    func identify(as source: PrefixHash) { self.source = source }

    /// - Returns: false when it was queued already.
    func markQueued() -> Bool {
        defer { isQueued = true }
        return !isQueued
    }

    func unmarkQueued() { isQueued = false }

    func markReadable() { isReadable = true }

    /// Reads into the front of `buffer`; a count of 0 is the end of the stream.
    func receive(into buffer: inout [UInt8]) -> Socket.Outcome {
        let outcome = Socket.receive(from: descriptor.number, into: &buffer)
        switch outcome {
        case .count(let count) where count > 0:
            // epoll(7): a short read has emptied the socket, but for an announced end of file.
            isReadable = count == buffer.count || http.hasPeerEnded
        case .count, .wouldBlock, .failed: isReadable = false
        }
        return outcome
    }

    /// Sends `output`, then the rest of a file; keeps what the kernel does not take.
    func send(_ output: [UInt8]) -> WriteResult {
        guard unsent.isEmpty, !hasYielded else {
            if !output.isEmpty { unsent.appendWiping(output.span) }
            return .blocked(after: 0)
        }
        var sent = 0
        if !output.isEmpty {
            switch Socket.send(to: descriptor.number, output.span, more: file != nil) {
            case .count(let count): sent = count
            case .wouldBlock: break
            case .failed: return .failed
            }
            if sent < output.count {
                unsent += output[sent...]
                return .blocked(after: sent)
            }
        }
        return sendFile(after: sent)
    }

    /// Sends a part of a file behind `output`.
    func send(_ output: [UInt8], _ body: FileBody) -> WriteResult {
        file = FileTransfer(file: body.file, offset: body.offset, remaining: body.count)
        return send(output)
    }

    func resumeSending() -> WriteResult {
        hasYielded = false
        var sent = 0
        if !unsent.isEmpty {
            switch Socket.send(
                to: descriptor.number, unsent.span.extracting(unsentStart..<unsent.count),
                more: file != nil)
            {
            case .count(let count): sent = count
            case .wouldBlock: break
            case .failed: return .failed
            }
            unsentStart += sent
            guard unsentStart == unsent.count else { return .blocked(after: sent) }
            discardUnsent()
        }
        return sendFile(after: sent)
    }

    private func sendFile(after count: Int) -> WriteResult {
        guard var transfer = file.take() else { return .written }
        var sent = count
        var budget = ConnectionSocket.fileBytesPerTurn
        while transfer.remaining > 0, budget > 0 {
            let outcome = Socket.sendFile(
                to: descriptor.number, transfer.file, offset: transfer.offset,
                count: Int(min(transfer.remaining, budget)))
            switch outcome {
            case .count(let count) where count > 0:
                sent += count
                transfer.offset += Int64(count)
                transfer.remaining -= Int64(count)
                budget -= Int64(count)
            case .wouldBlock:
                file = transfer
                return .blocked(after: sent)
            default:
                // The file is too short, or the client is gone: the length cannot be kept.
                return .failed
            }
        }
        guard transfer.remaining > 0 else { return .written }
        file = transfer
        // Still writable, so epoll will not say so.
        hasYielded = true
        return .blocked(after: sent)
    }

    /// Ends our side; the end of the client's side is read from now on.
    func endSending() {
        _ = linux_shutdown_send(descriptor.number)
        isReadable = true
    }

    /// Wipes what was not sent. The descriptor closes with the last reference to this object.
    func close() {
        isOpen = false
        discardUnsent()
    }

    private func discardUnsent() {
        unsent.wipe()
        unsent = []
        unsentStart = 0
    }
}
