import Foundation

/// What only this device knows: a file with the number of one batch a line, of products at home.
struct Cupboard {
    let file: URL

    func numbers() throws -> Set<String> {
        let text = try String(contentsOf: file, encoding: .utf8)
        return Set(text.split(separator: "\n").map(String.init))
    }

    /// Another one for other contents: FNV-1a, which needs to be no better than that.
    func generation() throws -> UInt64 {
        try Data(contentsOf: file).reduce(0xcbf2_9ce4_8422_2325) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
    }
}
