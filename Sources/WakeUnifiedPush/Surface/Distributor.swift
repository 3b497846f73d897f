import WakeBus

/// A program on this desktop that brings pushes: a UnifiedPush distributor.
public struct Distributor: Sendable, Equatable {
    /// Its name on the session bus, such as `org.unifiedpush.Distributor.kde`.
    public let name: String
    /// It runs; otherwise the bus starts it when it is called.
    public let isRunning: Bool

    /// A distributor by its name on the bus.
    public init(name: String, isRunning: Bool) {
        self.name = name
        self.isRunning = isRunning
    }
}

/// Which distributor a profile takes.
package enum DistributorChoice: Sendable, Equatable {
    case none
    case one(Distributor)
    /// "If there are multiple, then you can choose one of them by presenting a UI" (UnifiedPush
    /// D-Bus 0.3.0, "Choosing a distributor"): a person knows why there are several.
    case several([Distributor])

    package init(_ found: [Distributor]) {
        self =
            switch found.count {
            case 0: .none
            case 1: .one(found[0])
            default: .several(found)
            }
    }
}

extension Distributor {
    /// The prefix, and something behind it.
    package static func isName(_ bytes: [UInt8]) -> Bool {
        let prefix = UnifiedPush.distributorPrefix.utf8
        return bytes.starts(with: prefix) && bytes.count > prefix.count
            && BusGrammar.isWellKnownName(bytes)
    }
}
