/// A SOCKS5 proxy (RFC 1928) that asks for a user name and a password (RFC 1929), as Tor does for
/// its circuits, and alone knows where the hosts are: a name means a port of this machine.
package final class SocksProxy: Sendable {
    /// What one connection showed.
    package struct Visit: Sendable, Hashable {
        package let user: String
        package let password: String
        /// 3 for a name, 1 and 4 for addresses that somebody else has looked up.
        package let addressType: UInt8
        package let host: String
        package let port: Int
    }

    private let seen = Observed<[Visit]>([])
    private let server: WireServer

    /// - Parameter hosts: the port of each name.
    package init(hosts: [String: UInt16]) throws {
        server = try WireServer { [seen] peer in
            try? Self.serve(peer, hosts, seen)
        }
    }

    deinit { server.refuse() }

    package var port: UInt16 { server.port }

    package var visits: [Visit] { seen.value }

    private static func serve(
        _ peer: LoopbackClient, _ hosts: [String: UInt16], _ seen: Observed<[Visit]>
    ) throws {
        func text(_ count: UInt8) throws -> String {
            String(decoding: try peer.receive(exactly: Int(count)), as: UTF8.self)
        }
        let greeting = try peer.receive(exactly: 2)
        let methods = try peer.receive(exactly: Int(greeting[1]))
        // Whoever shows no name gets no circuit.
        guard greeting[0] == 5, methods.contains(2) else { return try peer.send([5, 0xFF]) }
        try peer.send([5, 2])
        let user = try text(try peer.receive(exactly: 2)[1])
        let password = try text(try peer.receive(exactly: 1)[0])
        try peer.send([1, 0])
        let command = try peer.receive(exactly: 4)
        let type = command[3]
        let host =
            switch type {
            case 3: try text(try peer.receive(exactly: 1)[0])
            default: "\(try peer.receive(exactly: type == 1 ? 4 : 16))"
            }
        let port = try peer.receive(exactly: 2)
        seen.update {
            $0.append(
                Visit(
                    user: user, password: password, addressType: type, host: host,
                    port: Int(port[0]) << 8 | Int(port[1])))
        }
        guard type == 3, let target = hosts[host] else {
            return try peer.send([5, 4, 0, 1, 0, 0, 0, 0, 0, 0])
        }
        try peer.send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
        while let request = WireRequest(from: peer) {
            let server = try LoopbackClient(port: target)
            try server.send(Array(request.head.utf8) + request.body)
            if request.path == "/v1/wakes" { return try relayStream(from: server, to: peer) }
            let answer = try server.receiveResponse()
            try peer.send(Array(answer.head.utf8) + answer.body)
        }
    }

    private static func relayStream(from server: LoopbackClient, to peer: LoopbackClient) throws {
        while true {
            do {
                let bytes = try server.receive()
                guard !bytes.isEmpty else { return }
                try peer.send(bytes)
            } catch LoopbackClient.Failure.timedOut {
                // A quiet stream.
            }
        }
    }
}
