import TestSupport
import WakeModel
import WakeStore
import WakeSystem

/// What a forensic run wrote down: everything that ever lay in its store. Says what may lie there
/// still, and what must not.
struct ForensicRecord {
    private struct Row {
        let version: Int
        let id: [UInt8]
        let sealed: [UInt8]
    }

    /// What was found of a kind of thing that must be gone, and how many were looked for.
    struct Found: CustomStringConvertible {
        var sought = 0
        var found = 0

        var description: String { "\(found) of \(sought)" }
    }

    enum Kind: String, CaseIterable {
        case instanceToken, pushToken, id, sealed, master
    }

    private(set) var registers = 0
    private(set) var deletes = 0
    /// Every row there ever was, by token; the last is the one of now, unless it was deleted.
    private var rows: [Int: [Row]] = [:]
    private var deleted: Set<Int> = []
    private var masters: [[UInt8]] = []

    static func token(_ number: Int) -> InstanceToken? {
        let name = Array("instance \(number)".utf8)
        return InstanceToken(Blake2b.hash(name.span))
    }

    init(_ bytes: [UInt8]) throws {
        guard !bytes.isEmpty, bytes.count.isMultiple(of: 673) else {
            throw TestFailure("a record of \(bytes.count) bytes")
        }
        for start in stride(from: 0, to: bytes.count, by: 673) {
            func number(_ offset: Int) -> Int {
                bytes[start + offset..<start + offset + 4].reversed().reduce(0) {
                    $0 << 8 | Int($1)
                }
            }
            let token = number(1)
            switch Character(UnicodeScalar(bytes[start])) {
            case "R":
                registers += 1
                deleted.remove(token)
                rows[token, default: []].append(
                    Row(
                        version: number(5), id: Array(bytes[start + 9..<start + 41]),
                        sealed: Array(bytes[start + 41..<start + 673])))
            case "D":
                deletes += 1
                deleted.insert(token)
            case "K": masters.append(Array(bytes[start + 33..<start + 65]))
            default: throw TestFailure("a record of no kind")
            }
        }
    }

    var rotations: Int { masters.count - 1 }

    /// Searches files for all of it.
    /// - Returns: what must be gone, by kind; and rows that must be there and how many of them are.
    func search(_ files: [[UInt8]]) -> (gone: [Kind: Found], live: Found) {
        var remains = Remains()
        var gone: [Kind: Found] = [:]
        var live = Found()
        // Kinds are owners; what is live has numbers of its own.
        var owner = Int32(Kind.allCases.count)
        func add(_ kind: Kind, _ bytes: [UInt8], _ stride: Int) {
            owner += 1
            kinds.append(kind)
            gone[kind, default: Found()].sought += 1
            if kind == .instanceToken || kind == .pushToken {
                remains.add(secret: bytes, owner: owner)
            } else {
                remains.add(bytes, owner: owner, stride: stride)
            }
        }
        var kinds: [Kind?] = Array(repeating: nil, count: Int(owner) + 1)
        let keys = masters.map { GenerationKeys(master: KeyMemory($0.span)) }
        for master in masters.dropLast(2) { add(.master, master, 8) }
        for (number, rows) in rows {
            guard let token = Self.token(number) else { continue }
            add(.instanceToken, token.bytes.copy(), 8)
            let ids = keys.map { $0.id(of: token) }
            let last = deleted.contains(number) ? nil : rows.last
            // It lives in the generation it was written in and in the next.
            let current = last.flatMap { last in ids.suffix(2).contains(last.id) ? last : nil }
            for version in Set(rows.map(\.version)) {
                add(.pushToken, Self.pushToken(number, version), 8)
            }
            for id in ids where id != current?.id { add(.id, id, 8) }
            for row in rows where row.sealed != current?.sealed { add(.sealed, row.sealed, 16) }
            guard let current else { continue }
            for bytes in [current.id, current.sealed] {
                owner += 1
                kinds.append(nil)
                live.sought += 1
                remains.add(bytes, owner: owner, stride: 16)
            }
        }
        let found = files.reduce(into: Set<Int32>()) { $0.formUnion(remains.search($1)) }
        for owner in found {
            if let kind = kinds[Int(owner)] {
                gone[kind, default: Found()].found += 1
            } else {
                live.found += 1
            }
        }
        return (gone, live)
    }

    private static func pushToken(_ number: Int, _ version: Int) -> [UInt8] {
        let name = Array("push \(number) \(version)".utf8)
        return Blake2b.hash(name.span)
    }
}
