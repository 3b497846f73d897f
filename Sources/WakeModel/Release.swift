private import CLinux
private import WakeSystem

/// The version of both programs, and what their build was told of the sources it was made from.
/// `Deploy/package` and Deploy/CHANGELOG.md have the version from here.
package struct Release: Sendable, Equatable {
    package static let version = "0.1.0"

    /// Of the program that runs.
    package static let current = Release(
        commit: digits { linux_build_commit_digit($0) }, isChanged: linux_build_is_changed())

    /// The hexadecimal digits of the commit; nil in a build that was not told it: only
    /// `Deploy/build` tells it, and only where the sources are a checkout of git or the caller
    /// knows.
    package let commit: String?
    /// Whether the sources had changes that are not in the commit.
    package let isChanged: Bool

    /// - Parameter commit: anything but 7 to 64 hexadecimal digits is no commit.
    package init(commit: String, isChanged: Bool) {
        let isHex = commit.utf8.allSatisfy { $0.isDigit || (0x61...0x66).contains($0) }
        self.commit = isHex && (7...64).contains(commit.utf8.count) ? commit : nil
        self.isChanged = self.commit != nil && isChanged
    }

    /// The answer to `--version`, behind the program's name: `0.1.0 (<commit>)`, with words in
    /// place of the commit where none is known, and behind it where the sources had changes.
    ///
    /// `Deploy/package` reads it.
    package var text: String {
        "\(Self.version) (\(commit ?? "commit unknown")\(isChanged ? ", with changes" : ""))"
    }

    private static func digits(_ digit: (Int32) -> UInt8) -> String {
        var digits: [UInt8] = []
        while digits.count <= 64, case let next = digit(Int32(digits.count)), next != 0 {
            digits.append(next)
        }
        return String(decoding: digits, as: UTF8.self)
    }
}
