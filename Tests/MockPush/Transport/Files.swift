import Glibc

/// A file as a whole.
func readFile(_ path: String) throws(MockFailure) -> [UInt8] {
    guard let file = unsafe fopen(path, "rbe") else { throw MockFailure("cannot read \(path)") }
    defer { unsafe fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while case let count = unsafe fread(&chunk, 1, chunk.count, file), count > 0 {
        bytes += chunk.prefix(count)
    }
    return bytes
}

/// Why the mock cannot run.
struct MockFailure: Error {
    let message: String

    init(_ message: String) { self.message = message }
}
