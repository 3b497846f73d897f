private import Glibc

extension StorePlace {
    /// Whether the bytes occur anywhere; fast enough for whole files in an unoptimised build.
    package static func contains(_ bytes: [UInt8], _ pattern: [UInt8]) -> Bool {
        guard let first = pattern.first else { return true }
        return unsafe bytes.withUnsafeBytes { bytes in
            unsafe pattern.withUnsafeBytes { pattern in
                guard var place = bytes.baseAddress, let wanted = pattern.baseAddress
                else { return false }
                let end = unsafe place + bytes.count
                while unsafe end - place >= pattern.count {
                    let rest = unsafe end - place - pattern.count + 1
                    guard let found = unsafe memchr(place, Int32(first), rest) else { return false }
                    if unsafe memcmp(found, wanted, pattern.count) == 0 { return true }
                    unsafe place = UnsafeRawPointer(found) + 1
                }
                return false
            }
        }
    }
}

extension StorePlace {
    /// How many of the patterns lie in any file of a directory, as they are.
    package static func hits(_ patterns: [[UInt8]], in directory: String) -> Int {
        let files = names(in: directory).map { bytes(of: directory + "/" + $0) }
        return patterns.count { pattern in files.contains { contains($0, pattern) } }
    }
}
