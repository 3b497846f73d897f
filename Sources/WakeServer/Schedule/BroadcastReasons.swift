/// Why a broadcast starts; several when what was asked for meanwhile is merged into one.
package struct BroadcastReasons: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Its time has come, whether or not anything was published.
    package static let heartbeat = BroadcastReasons(rawValue: 1)
    /// The publisher or the operator asked for one.
    package static let asked = BroadcastReasons(rawValue: 2)
    /// The watched head has a new sequence.
    package static let watched = BroadcastReasons(rawValue: 4)

    static let all: BroadcastReasons = [.heartbeat, .asked, .watched]

    /// For people and logs, `heartbeat+asked`.
    package var words: String {
        var words: [String] = []
        if contains(.heartbeat) { words.append("heartbeat") }
        if contains(.asked) { words.append("asked") }
        if contains(.watched) { words.append("watched") }
        return words.isEmpty ? "none" : words.joined(separator: "+")
    }
}
