/// The connection's thread: one wait for the socket, the callers and the time, then what is due.
struct BusLoop: ~Copyable {
    private enum Phase {
        case handshake(BusHandshake)
        case messages(BusMessageReader)
    }

    private let link: BusLink
    private let reception: BusReception
    private let socket: BusSocket
    private var phase: Phase
    private var output: [UInt8]
    private var sent = 0
    private var input = [UInt8](repeating: 0, count: 16_384)

    /// Runs until the link ends, on the calling thread.
    static func run(
        _ link: BusLink, _ reception: BusReception, _ addresses: [BusAddress], user: UInt32
    ) {
        do throws(BusError) {
            var loop = try BusLoop(link, reception, addresses, user)
            try loop.run()
        } catch {
            link.end(error)
        }
    }

    /// Connects to the first of the addresses where somebody listens.
    private init(
        _ link: BusLink, _ reception: BusReception, _ addresses: [BusAddress], _ user: UInt32
    ) throws(BusError) {
        precondition(!addresses.isEmpty, "no address")
        var index = 0
        while true {
            do throws(BusError) {
                socket = try BusSocket(
                    addresses[index], milliseconds: UInt32(BusLimits.openingSeconds * 1000))
                break
            } catch {
                index += 1
                if index == addresses.count || link.ending != nil { throw error }
            }
        }
        self.link = link
        self.reception = reception
        phase = .handshake(BusHandshake(guid: addresses[index].guid))
        output = BusHandshake.opening(user: user)
    }

    private mutating func run() throws(BusError) {
        let opening = link.now + UInt64(BusLimits.openingSeconds * 1000)
        while link.ending == nil {
            var wait = link.expire()
            if case .handshake = phase {
                let now = link.now
                guard now < opening else { throw .timedOut }
                wait = min(wait ?? .max, opening - now)
            }
            try send()
            socket.wait(link.bell, writable: sent < output.count, milliseconds: wait)
            try receive()
        }
        // What was sent before the end is sent, as far as the bus takes it at once.
        try send()
    }

    private mutating func send() throws(BusError) {
        while true {
            if sent == output.count {
                // Nothing but the handshake before its end.
                if case .handshake = phase { return }
                output = link.takeOutput()
                sent = 0
                if output.isEmpty { return }
            }
            switch socket.send(output, from: sent) {
            case .moved(let count): sent += count
            case .waits: return
            case .ended: throw .closed
            }
        }
    }

    private mutating func receive() throws(BusError) {
        switch socket.receive(into: &input) {
        case .waits: return
        case .ended: throw .closed
        case .moved(let count): try take(Array(input[..<count]))
        }
    }

    private mutating func take(_ bytes: [UInt8]) throws(BusError) {
        switch phase {
        case .handshake(var handshake):
            switch try handshake.feed(bytes) {
            case .needMore: phase = .handshake(handshake)
            case .done(let last):
                output += last
                phase = .messages(BusMessageReader())
                link.isOpen()
            }
        case .messages(var reader):
            // No second owner of the buffer while it grows.
            phase = .messages(BusMessageReader())
            reader.feed(bytes)
            while let reading = try reader.next() { try take(reading) }
            phase = .messages(reader)
        }
    }

    private func take(_ reading: BusMessageReader.Reading) throws(BusError) {
        switch reading {
        case .message(let message, let bytes):
            switch message.kind {
            case .reply: link.answer(message, .success(message))
            case .error:
                let failure = BusFailure(errorName: message.errorName ?? [])
                link.answer(message, .failure(.failed(failure)))
            case .signal:
                if link.inbox.put(message, bytes: bytes) { return }
                // Of the bus's own signals none may be missed: who has a name is told once. Those
                // of others are lost.
                if message.sender == BusCallTable<Int>.bus { throw .overflow }
            case .call: receive(call: message, bytes: bytes)
            }
        case .tooLarge(let message):
            guard let message else { return }
            switch message.kind {
            case .reply, .error: link.answer(message, .failure(.tooLarge))
            case .signal: return
            case .call: refuse(message, .limitsExceeded)
            }
        }
    }

    private func receive(call: BusMessage, bytes: Int) {
        switch reception.verdict(call) {
        case .answer(let answer):
            // An answer for which there is no room is one that the caller does without.
            if !call.flags.contains(.noReplyExpected) { try? link.send(answer) }
        case .pass:
            if !link.inbox.put(call, bytes: bytes) { refuse(call, .limitsExceeded) }
        }
    }

    private func refuse(_ call: BusMessage, _ failure: BusFailure) {
        guard !call.flags.contains(.noReplyExpected) else { return }
        try? link.send(.error(to: call, name: failure.errorName))
    }
}
