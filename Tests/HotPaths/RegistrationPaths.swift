import WakeModel
import WakeServer
import WakeStore
import WakeSystem

/// What a registration takes beside HTTP and SQLite.
enum RegistrationPaths {
    private static let count = 200

    static var all: [HotPath] {
        get throws {
            let bodies = (0..<count).map { number in
                let token = Hex.encode(FixedBytes.make(32, seed: UInt64(number)).span)
                return Array(#"{"service":"apns","token":""#.utf8) + token + Array(#""}"#.utf8)
            }
            let texts = (0..<count).map {
                Base64URL.encode(FixedBytes.make(32, seed: UInt64(1000 + $0)).span)
            }
            let keys = GenerationKeys(master: KeyMemory(FixedBytes.make(32, seed: 1).span))
            let pushes = try bodies.map { try RegistrationBody(decoding: $0).token }
            let rows = try zip(texts, pushes).map { text, push in
                guard let token = InstanceToken(text: text.span) else { throw WrongResult() }
                let id = keys.id(of: token)
                return (id: id, sealed: keys.seal(push, id: id))
            }
            let page = zip(rows, pushes).map { row, push in
                let identity = RowIdentity(id: row.id.span, sealed: row.sealed.span)
                return StoreRow(identity: identity, token: push)
            }
            return [
                HotPath(name: "registration-body", count: count) {
                    for body in bodies
                    where try RegistrationBody(decoding: body).token.service != .apns {
                        throw WrongResult()
                    }
                },
                HotPath(name: "row-seal", count: count) {
                    for (text, push) in zip(texts, pushes) {
                        guard let token = InstanceToken(text: text.span) else {
                            throw WrongResult()
                        }
                        _ = keys.seal(push, id: keys.id(of: token))
                    }
                },
                HotPath(name: "row-open", count: count) {
                    for row in rows where keys.open(row.sealed.span, id: row.id.span) == nil {
                        throw WrongResult()
                    }
                },
                HotPath(name: "token-deduplicate", count: count) {
                    var seen = TokenDeduplicator()
                    for hash in seen.hashes(of: page, for: .apns) where !seen.insert(hash: hash) {
                        throw WrongResult()
                    }
                },
                HotPath(name: "stored-registration-encode", count: count) {
                    for (row, push) in zip(rows, pushes) {
                        let stored = StoredRegistration(
                            generation: .current, id: row.id, sealed: row.sealed, token: push)
                        let answer = RegistrationResponse(stored: stored, policyHash: "abc")
                        guard answer.encode().count > 100 else { throw WrongResult() }
                    }
                },
            ]
        }
    }
}
