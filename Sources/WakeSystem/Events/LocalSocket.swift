private import CLinux
private import Glibc
private import Synchronization

/// A Unix socket in a directory, for other processes of the same user (unix(7)). One thread reads
/// one line of each connection; nothing is read or answered for another user.
package final class LocalSocket: Sendable {
    /// The longest request.
    private static let requestBytes = 64
    /// The longest answer: a socket takes it at once, without a reader (unix(7)).
    private static let answerBytes = 65_536
    /// Callers whose requests are read at a time; more wait to be accepted.
    private static let mostCallers = 64

    /// Kept open: the path of the socket goes through it.
    private let directory: OpenFile
    private let path: String
    private let listener: Descriptor
    private let poller: Poller
    private let isClosed = Atomic(false)
    private let patience: UInt64

    /// Makes the file, for its owner alone; a file of a process that died is replaced.
    /// - Parameters:
    ///   - patience: milliseconds within which a caller's request comes.
    ///   - receive: called on the socket's thread with each request.
    package init(
        _ name: String, in directory: String, patience: UInt64 = 1000,
        receive: @escaping @Sendable (_ request: [UInt8], _ caller: LocalCaller) -> Void
    ) throws(SystemError) {
        self.patience = patience
        self.directory = try Self.open(directory)
        path = Self.path(name, in: self.directory)
        let result = unsafe linux_listen_unix(path, 0o600, 16)
        listener = Descriptor(owning: try SystemError.check(result))
        poller = try Poller()
        guard poller.add(listener.number, [.readable, .edge], token: 0) else {
            throw SystemError(ENOMEM)
        }
        try SystemThread.start { [self] in run(receive) }
    }

    /// Ends the thread, and removes the file.
    package func close() {
        isClosed.store(true, ordering: .relaxed)
        unsafe linux_unlink_unix(listener.number, path)
        poller.wake()
    }

    /// Reads all callers at the same time: one that says nothing keeps none of the others waiting.
    private func run(_ receive: (_ request: [UInt8], _ caller: LocalCaller) -> Void) {
        var events = [linux_event](repeating: linux_event(), count: Self.mostCallers + 2)
        var callers: [UInt64: LocalCaller.Request] = [:]
        var lastToken: UInt64 = 0
        while !isClosed.load(ordering: .relaxed) {
            let now = SystemClock.monotonicMilliseconds
            callers = callers.filter { $0.value.end > now }
            let end = callers.values.map(\.end).min()
            // A poll returns early rather than late: one millisecond more.
            let wait = end.map { Int32($0 - now) + 1 } ?? -1
            let count = poller.wait(into: &events, milliseconds: wait)
            for event in events[..<count] where callers[event.token] != nil {
                read(event.token, of: &callers, receive)
            }
            while callers.count < Self.mostCallers, let caller = accept() {
                lastToken += 1
                callers[lastToken] = LocalCaller.Request(
                    caller, end: SystemClock.monotonicMilliseconds + patience)
                guard poller.add(caller.number, [.readable, .readHangup], token: lastToken) else {
                    callers[lastToken] = nil
                    continue
                }
                read(lastToken, of: &callers, receive)
            }
        }
    }

    private func read(
        _ token: UInt64, of callers: inout [UInt64: LocalCaller.Request],
        _ receive: (_ request: [UInt8], _ caller: LocalCaller) -> Void
    ) {
        guard var request = callers.removeValue(forKey: token) else { return }
        switch request.read(limit: Self.requestBytes) {
        case .incomplete: callers[token] = request
        case .complete(let line):
            poller.remove(request.caller.number)
            receive(line, request.caller)
        case .failed: poller.remove(request.caller.number)
        }
    }

    /// The next connection of this user; others are closed.
    private func accept() -> LocalCaller? {
        while true {
            var peer = linux_peer()
            let descriptor = unsafe linux_accept(listener.number, &peer)
            guard descriptor >= 0 else { return nil }
            let caller = LocalCaller(Descriptor(owning: descriptor))
            if linux_is_same_user(descriptor) { return caller }
        }
    }

    /// Sends a request to the process that listens there, and waits for its answer.
    /// - Parameter seconds: the longest wait; nil for a request without an answer.
    /// - Returns: nil when nobody listens, or no answer came in time.
    @discardableResult
    package static func ask(
        _ name: String, in directory: String, _ request: String, seconds: UInt32?
    ) -> [UInt8]? {
        guard let directory = try? open(directory) else { return nil }
        let path = Array(path(name, in: directory).utf8)
        let result = unsafe linux_connect_unix(path, path.count, (seconds ?? 1) * 1000)
        guard result >= 0 else { return nil }
        let socket = Descriptor(owning: result)
        let line = Array("\(request)\n".utf8)
        guard linux_is_same_user(result), socket.send(line) else { return nil }
        return seconds == nil ? [] : socket.answer(limit: answerBytes)
    }

    /// A path of any length: the address of a socket has room for 107 bytes.
    private static func path(_ name: String, in directory: OpenFile) -> String {
        "/proc/self/fd/\(directory.descriptor)/\(name)"
    }

    private static func open(_ directory: String) throws(SystemError) -> OpenFile {
        try mapError({ SystemError($0.number) }) { () throws(FileError) in
            try OpenFile(directory, flags: O_RDONLY | O_DIRECTORY, followsLink: true)
        }
    }
}

/// The open end of one request: answered once at most, and closed when it goes.
package final class LocalCaller: Sendable {
    private let socket: Descriptor

    init(_ socket: consuming Descriptor) { self.socket = socket }

    /// Sends the answer, of 64 KiB at most.
    package func answer(_ bytes: [UInt8]) { _ = socket.send(bytes) }

    fileprivate var number: Int32 { socket.number }

    /// A request that is being read.
    fileprivate struct Request {
        enum Progress {
            case incomplete, failed
            case complete([UInt8])
        }

        let caller: LocalCaller
        /// Milliseconds of the monotonic clock.
        let end: UInt64
        private var bytes: [UInt8] = []

        init(_ caller: LocalCaller, end: UInt64) {
            self.caller = caller
            self.end = end
        }

        /// Reads what is there: a line of at most `limit` bytes with its end.
        mutating func read(limit: Int) -> Progress {
            while bytes.count < limit {
                var buffer = [UInt8](repeating: 0, count: limit)
                let count = unsafe linux_receive(caller.number, &buffer, limit)
                if count == -Int(EAGAIN) { return .incomplete }
                guard count > 0 else { return .failed }
                bytes += buffer[..<count]
                if let newline = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                    return .complete(Array(bytes[..<newline]))
                }
            }
            return .failed
        }
    }
}

extension Descriptor {
    fileprivate borrowing func send(_ bytes: [UInt8]) -> Bool {
        unsafe linux_send(number, bytes, bytes.count, false) == bytes.count
    }

    /// Everything up to the end of the conversation; nil when it fails or nothing comes.
    fileprivate borrowing func answer(limit: Int) -> [UInt8]? {
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while answer.count <= limit {
            let count = unsafe read(number, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { return answer.isEmpty ? nil : answer }
            answer += buffer[..<count]
        }
        return nil
    }
}
