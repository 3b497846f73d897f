import Synchronization

/// The open clients by the numbers that programs know as `reveille_client *`. A number is never
/// followed as an address, and never used again: whatever a program passes, nothing is misread.
final class ClientTable: Sendable {
    static let shared = ClientTable()

    private struct State {
        var clients: [UInt: LibraryClient] = [:]
        /// Odd, as no object's address is: it shows in a debugger.
        var next: UInt = 1
    }

    private let state = Mutex(State())

    func add(_ client: LibraryClient) -> UInt {
        state.withLock { state in
            defer { state.next += 2 }
            state.clients[state.next] = client
            return state.next
        }
    }

    /// The client of a number.
    /// - Throws: `argument` for NULL, `closed` for what is not open.
    func client(_ number: UInt) throws(CallFault) -> LibraryClient {
        guard number != 0 else { throw .argument }
        guard let client = state.withLock({ $0.clients[number] }) else { throw .closed }
        return client
    }

    /// Closes a client; no other call finds it from now on.
    func close(_ number: UInt) throws(CallFault) {
        try client(number).refuseInCallback()
        guard let client = state.withLock({ $0.clients.removeValue(forKey: number) }) else {
            throw .closed
        }
        client.close()
    }
}
