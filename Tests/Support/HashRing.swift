private import WakeModel

/// The ring on which haproxy places requests with `balance hash …,sha2(256)` and
/// `hash-type consistent sdbm avalanche` (its `lb_chash.c` and `hash.c`): a server has 16 points
/// for each unit of its weight, placed by its `id` alone, and a request goes to the server of the
/// point that is nearest to its hash, on either side. 3.0 to 3.0.12 have other points for an id.
/// `HashRingTests` compares it with haproxy.
package struct HashRing: Sendable {
    package struct Server: Sendable {
        package let id: UInt32
        package let weight: Int

        package init(id: Int, weight: Int) {
            self.id = UInt32(id)
            self.weight = weight
        }
    }

    /// Ascending; the server of each has the same index in `owners`.
    private let points: [UInt32]
    private let owners: [UInt32]
    /// For each value of the highest bits the first point that is not before it.
    private let starts: [Int32]

    private static let indexBits: UInt32 = 18
    /// `BE_WEIGHT_SCALE`, and the ids' distance on the scale of points (`SRV_EWGHT_RANGE`).
    private static let pointsPerWeight = 16
    private static let idRange: UInt32 = 4096

    /// - Parameters:
    ///   - servers: at least one.
    ///   - isTwiceHashed: as haproxy 3.0 to 3.0.12 has it.
    package init(_ servers: [Server], isTwiceHashed: Bool = false) {
        precondition(!servers.isEmpty)
        let all = servers.flatMap { server in
            let first = Self.start(of: server.id, isTwiceHashed: isTwiceHashed)
            return (0..<UInt32(server.weight * Self.pointsPerWeight)).map {
                (Self.avalanche(first &+ $0), server.id)
            }
        }.sorted { $0.0 < $1.0 }
        points = all.map(\.0)
        owners = all.map(\.1)
        var starts: [Int32] = []
        var next = 0
        for value in 0..<UInt32(1) << Self.indexBits {
            while next < all.count, all[next].0 >> (32 - Self.indexBits) < value { next += 1 }
            starts.append(Int32(next))
        }
        self.starts = starts
    }

    /// The number from which the points of a server are made: equal ones, equal points.
    package static func start(of id: UInt32, isTwiceHashed: Bool) -> UInt32 {
        isTwiceHashed ? avalanche(id) : id &* idRange
    }

    package var pointCount: Int { points.count }

    /// The id of the server that gets a request with this hash.
    package func server(of hash: UInt32) -> Int {
        var next = Int(starts[Int(hash >> (32 - Self.indexBits))])
        while next < points.count, points[next] < hash { next += 1 }
        if next == points.count { next = 0 }
        let former = next == 0 ? points.count - 1 : next - 1
        let isFormer = hash &- points[former] <= points[next] &- hash
        return Int(owners[isFormer ? former : next])
    }

    /// The hash of an instance token, 43 characters.
    package static func hash(ofToken token: [UInt8]) -> UInt32 {
        var hash: UInt32 = 0
        for byte in SHA256.hash(token.span) {
            hash = UInt32(byte) &+ (hash << 6) &+ (hash << 16) &- hash
        }
        return avalanche(hash)
    }

    /// The text of an instance token.
    package static func token(_ bytes: [UInt8]) -> [UInt8] { Base64URL.encode(bytes.span) }

    /// `__full_hash` of haproxy: Bob Jenkins' avalanche of 32 bits, and a factor that spreads.
    private static func avalanche(_ value: UInt32) -> UInt32 {
        var mixed = value
        mixed = (mixed &+ 0x7ED5_5D16) &+ (mixed << 12)
        mixed = (mixed ^ 0xC761_C23C) ^ (mixed >> 19)
        mixed = (mixed &+ 0x1656_67B1) &+ (mixed << 5)
        mixed = (mixed &+ 0xD3A2_646C) ^ (mixed << 9)
        mixed = (mixed &+ 0xFD70_46C5) &+ (mixed << 3)
        mixed = (mixed ^ 0xB55A_4F09) ^ (mixed >> 16)
        return mixed &* 3_221_225_473
    }
}
