/// What an operator calls a self-hosted installation: 1 to 64 of `a-z`, `0-9` and `-`.
package struct InstallationName: Sendable, Hashable, CustomStringConvertible {
    package let description: String

    /// - Returns: nil for anything else.
    package init?(_ text: some StringProtocol) {
        self.init(Array(text.utf8)[...])
    }

    init?(_ bytes: ArraySlice<UInt8>) {
        let isName = bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), 0x30...0x39, UInt8(ascii: "-"): true
            default: false
            }
        }
        guard (1...64).contains(bytes.count), isName else { return nil }
        description = String(decoding: bytes, as: UTF8.self)
    }
}
