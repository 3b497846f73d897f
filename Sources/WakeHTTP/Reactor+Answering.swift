/// From requests to answers.
extension Reactor {
    func handle(_ request: consuming Request, on connection: Connection) {
        counters.requests.increment()
        connection.sequence &+= 1
        connection.phase = .answering
        connection.timing = .none
        connection.sentContinue = false
        connection.isHead = request.method == .head
        connection.isVersion10 = request.isVersion10
        connection.closesAfterAnswer = request.closes
        let exchange = Exchange(
            reactor: self, connection: connection.id, sequence: connection.sequence,
            source: connection.source)
        connection.isInHandler = true
        listeners[connection.listener].configuration.handler(request, exchange)
        connection.isInHandler = false
        if let answer = connection.answer {
            connection.answer = nil
            write(answer, to: connection)
        } else {
            time(connection, .answer)
        }
    }

    /// Takes a handler's answer, unless it is late or the second.
    func deliver(_ answer: Connection.Answer, to id: ConnectionID, sequence: UInt32) {
        guard let connection = connections[id], connection.sequence == sequence,
            case .answering = connection.phase, connection.answer == nil
        else { return answer.lose() }
        connection.answer = answer
        // Written after the handler has returned, or in the next turn: never from inside somebody
        // else's work.
        if !connection.isInHandler { queue(connection) }
    }

    func write(_ answer: Connection.Answer, to connection: Connection) {
        switch answer {
        case .response(let response):
            write(response, to: connection)
        case .stream(let hub, let head, let first):
            startStream(on: connection, hub: hub, head: head, first: first)
        case .pieces(let answer, let head):
            startPieces(on: connection, answer, head: head)
        }
    }

    /// Renders `response` and says what comes after it.
    func write(_ response: Response, to connection: Connection) {
        let closes = response.closes || connection.closesAfterAnswer || state != .serving
        appendHead(of: response, closes: closes)
        // RFC 9110 §9.3.2: HEAD has the fields of GET, and no content.
        if !connection.isHead {
            switch response.body {
            case .none: break
            case .bytes(let bytes): output.append(contentsOf: bytes)
            case .file(let file) where file.count == 0: break
            case .file(let file):
                connection.file = Connection.Sending(
                    file: file.file, offset: file.offset, remaining: file.count)
            }
        }
        connection.phase = closes ? .ending : .reading
        connection.timing = .none
        if closes, connection.isReadable { connection.lingers = true }
        if connection.file != nil || output.count >= Reactor.outputCapacity / 2 {
            flush(connection)
        }
    }

    private func appendHead(of response: Response, closes: Bool) {
        output.append(contentsOf: response.head)
        output.append(contentsOf: date.line)
        if let length = response.contentLength {
            output.append(text: "Content-Length: ")
            output.append(decimal: length)
            output.append(text: "\r\n")
        }
        output.append(text: closes ? "Connection: close\r\n\r\n" : "\r\n")
    }

    /// Turns a request or a newcomer away and ends the connection.
    func refuse(_ connection: Connection, _ refusal: Refusal) {
        refuse(connection, with: refusals[refusal])
    }

    func refuse(_ connection: Connection, with response: Response) {
        if response.status < 500 {
            counters.refusedByClientError.increment()
        } else {
            counters.refusedByServerError.increment()
        }
        // RFC 9110 §9.3.2, as far as the method is known.
        if connection.isReading { connection.isHead = connection.parser.head.method == .head }
        connection.lingers = true
        write(response.closing(), to: connection)
    }

    private func startStream(
        on connection: Connection, hub: StreamHub, head: Response, first: [UInt8]
    ) {
        guard state == .serving else { return refuse(connection, .overloaded) }
        guard !connection.isHead else { return write(head.closing(), to: connection) }
        let (id, source, limits) = (connection.id, connection.source, limits)
        let reactor = self
        let isAdmitted = hub.assumeIsolated {
            $0.admit(id, source: source, by: reactor, limits: limits)
        }
        guard isAdmitted else { return refuse(connection, .overloaded) }
        counters.streams.increment()
        output.append(contentsOf: head.head)
        output.append(contentsOf: date.line)
        // RFC 9112 §6.3: without a length the content ends with the connection.
        output.append(text: "Connection: close\r\n\r\n")
        output.append(contentsOf: first)
        connection.phase = .streaming(hub)
        wipe(&connection.pending)
        connection.pending = []
        time(connection, .stream)
    }
}
