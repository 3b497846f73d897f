import CLinux
import WakeSystem

/// The connection's thread: waits for the socket, callers and deadlines, and moves bytes.
struct BusLoop: ~Copyable {
    private enum Phase {
        case authentication(BusAuthentication)
        case messages(BusMessageReader)
    }

    private let session: BusSession
    private let dispatcher: BusDispatcher
    private let socket: BusSocket
    private var phase: Phase
    private var output: [UInt8]
    private var sent = 0
    private var input = [UInt8](repeating: 0, count: 16_384)
    /// Edges tell of new bytes only: the socket may have bytes until a read finds none.
    private var mayHaveInput = true

    static func run(
        _ session: BusSession, _ dispatcher: BusDispatcher, _ addresses: [BusAddress],
        user: UInt32
    ) {
        do throws(BusError) {
            var loop = try BusLoop(session, dispatcher, addresses, user)
            try loop.run()
        } catch { session.end(error) }
    }

    /// Connects to the first of the addresses where a socket listens.
    private init(
        _ session: BusSession, _ dispatcher: BusDispatcher, _ addresses: [BusAddress],
        _ user: UInt32
    ) throws(BusError) {
        precondition(!addresses.isEmpty, "no address")
        var index = 0
        while true {
            do throws(BusError) {
                socket = try BusSocket(
                    addresses[index], milliseconds: UInt32(BusLimits.openingSeconds * 1000),
                    poller: session.poller)
                break
            } catch {
                index += 1
                if index == addresses.count || session.ending != nil { throw error }
            }
        }
        self.session = session
        self.dispatcher = dispatcher
        phase = .authentication(BusAuthentication(guid: addresses[index].guid))
        output = BusAuthentication.opening(user: user)
    }

    private mutating func run() throws(BusError) {
        let opening = session.now + UInt64(BusLimits.openingSeconds * 1000)
        var events = [linux_event](repeating: linux_event(), count: 4)
        while session.ending == nil {
            var wait = session.expire()
            if case .authentication = phase {
                let now = session.now
                guard now < opening else { throw .timedOut }
                wait = min(wait ?? .max, opening - now)
            }
            try send()
            if !mayHaveInput {
                let milliseconds = wait.map { Int32(clamping: $0) } ?? -1
                let count = session.poller.wait(into: &events, milliseconds: milliseconds)
                mayHaveInput = events[..<count].contains { $0.token != Poller.wakeToken }
            }
            if mayHaveInput { try receive() }
        }
        // Bytes that were queued before the end are sent, as far as the bus takes them at once.
        try send()
    }

    private mutating func send() throws(BusError) {
        while true {
            if sent == output.count {
                // Messages wait for the end of the authentication.
                if case .authentication = phase { return }
                output = session.takeOutput()
                sent = 0
                if output.isEmpty { return }
            }
            switch socket.send(output, from: sent) {
            case .moved(let count): sent += count
            case .blocked: return
            case .ended: throw .closed
            }
        }
    }

    private mutating func receive() throws(BusError) {
        switch socket.receive(into: &input) {
        case .blocked: mayHaveInput = false
        case .ended: throw .closed
        case .moved(let count): try read(Array(input[..<count]))
        }
    }

    private mutating func read(_ bytes: [UInt8]) throws(BusError) {
        switch phase {
        case .authentication(var authentication):
            guard let last = try authentication.feed(bytes)
            else { return phase = .authentication(authentication) }
            output += last
            phase = .messages(BusMessageReader())
            session.open()
        case .messages(var reader):
            // No second owner of the buffer while it grows.
            phase = .messages(BusMessageReader())
            reader.feed(bytes)
            while let reading = try reader.next() { try handle(reading) }
            phase = .messages(reader)
        }
    }

    private func handle(_ reading: BusMessageReader.Reading) throws(BusError) {
        switch reading {
        case .message(let message, let bytes):
            switch message.kind {
            case .reply: session.complete(message, .success(message))
            case .error:
                let failure = BusFailure(errorName: message.errorName ?? [])
                session.complete(message, .failure(.failed(failure)))
            case .signal:
                if session.received.append(message, bytes: bytes) { return }
                // Other signals may be lost; the bus announces an owner of a name only once.
                if message.sender == BusCallTable<Int>.bus { throw .overflow }
            case .call: handle(call: message, bytes: bytes)
            }
        case .tooLarge(let message):
            guard let message else { return }
            switch message.kind {
            case .reply, .error: session.complete(message, .failure(.tooLarge))
            case .signal: return
            case .call: refuse(message)
            }
        }
    }

    private func handle(call: BusMessage, bytes: Int) {
        if let answer = dispatcher.answer(to: call) {
            send(answer, to: call)
        } else if !session.received.append(call, bytes: bytes) {
            refuse(call)
        }
    }

    private func refuse(_ call: BusMessage) {
        send(.error(to: call, name: BusFailure.limitsExceeded.errorName), to: call)
    }

    /// Without room the answer is dropped: the caller has a timeout.
    private func send(_ answer: BusMessage, to call: BusMessage) {
        if !call.flags.contains(.noReplyExpected) { try? session.send(answer) }
    }
}
