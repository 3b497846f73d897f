public import Reveille
private import WakeModel

/// A UnifiedPush distributor: a program on this desktop that delivers pushes.
public struct Distributor: Sendable, Equatable {
    /// Its name on the session bus, such as `org.unifiedpush.Distributor.kde`.
    public let name: String
    /// Whether it runs; otherwise the bus starts it when it is called.
    public let isRunning: Bool

    /// A distributor by its name on the bus.
    public init(name: String, isRunning: Bool) {
        self.name = name
        self.isRunning = isRunning
    }
}

extension Distributor {
    /// Whether a bus name is a distributor's: the prefix, and more.
    package static func isName(_ bytes: [UInt8]) -> Bool {
        let prefix = UnifiedPush.distributorPrefix.utf8
        return bytes.starts(with: prefix) && bytes.count > prefix.count
            && BusGrammar.isWellKnownName(bytes)
    }
}

extension BusConnection {
    /// The distributors that run or can be activated, by name.
    package func distributors() async throws(BusError) -> [Distributor] {
        var found: [Distributor] = []
        for name in try await names() where Distributor.isName(name) {
            let text = String(decoding: name, as: UTF8.self)
            let isRunning = try await nameOwner(text) != nil
            found.append(Distributor(name: text, isRunning: isRunning))
        }
        return found.sorted { $0.name < $1.name }
    }

    /// Has a distributor forget a token. It may confirm that to the connector later.
    package func unregister(_ record: DistributorRecord) async throws(BusError) {
        _ = try await call(
            .call(
                record.name, path: UnifiedPush.distributorPath,
                interface: UnifiedPush.distributorInterface, member: "Unregister",
                [.options([("token", .string(record.token.copy()))])]))
    }
}

/// An endpoint in the form that the client takes.
package typealias EndpointToken = AppPushToken

extension EndpointToken {
    /// The generator of P-256 (SEC 2 §2.4.2), whose private key is 1, and 16 zero bytes.
    private static let publicKey = Array(
        ("BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKW"
            + "T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU").utf8)
    private static let secret = Array("AAAAAAAAAAAAAAAAAAAAAA".utf8)

    /// An endpoint as a distributor names it; nil when it is none, or too long.
    ///
    /// Push services that keep to UnifiedPush's specification refuse a message that is not
    /// encrypted. Of ours nothing is secret, as its content is never read: the keys are the same
    /// for every client and tell none from another. The longest endpoints have no room for them.
    package init?(unifiedPush text: [UInt8]) {
        let keyed = try? Self(endpoint: text, p256dh: Self.publicKey, auth: Self.secret)
        guard let token = keyed ?? (try? Self(.webPush, text: text)) else { return nil }
        self = token
    }
}

/// The reason why no pushes come.
public typealias DistributorTrouble = Warning.DistributorTrouble
