package import Foundation

/// Looks for bytes by memchr(3) and memcmp(3): fast enough for whole files in an unoptimised build,
/// where the search of collections is slow.
extension [UInt8] {
    /// The index after the first occurrence of `pattern`.
    package func end(of pattern: [UInt8]) -> Int? {
        guard let initial = pattern.first else { return 0 }
        return unsafe withUnsafeBytes { bytes -> Int? in
            guard let base = bytes.baseAddress else { return nil }
            var start = 0
            while start + pattern.count <= bytes.count {
                let rest = unsafe base + start
                let count = bytes.count - start - pattern.count + 1
                guard let found = unsafe memchr(rest, Int32(initial), count) else { return nil }
                start = unsafe base.distance(to: found)
                if unsafe memcmp(found, pattern, pattern.count) == 0 {
                    return start + pattern.count
                }
                start += 1
            }
            return nil
        }
    }

    package func holds(_ pattern: [UInt8]) -> Bool { end(of: pattern) != nil }
}

extension FileSnapshot {
    /// The names of the files that hold any of the needles, sorted.
    package static func names(
        of files: [String: Data], containing needles: [[UInt8]]
    ) -> [String] {
        files.filter { _, data in
            let bytes = [UInt8](data)
            return needles.contains { bytes.holds($0) }
        }.map(\.key).sorted()
    }
}

extension StorePlace {
    /// How many of the patterns lie in any file of a directory, as they are.
    package static func hits(_ patterns: [[UInt8]], in directory: String) -> Int {
        let files = names(in: directory).map { bytes(of: directory + "/" + $0) }
        return patterns.count { pattern in files.contains { $0.holds(pattern) } }
    }
}
