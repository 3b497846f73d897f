import Glibc
import TestSupport
import WakeSystem

@testable import WakeHTTP

/// A file with contents that differ at every offset, for responses.
enum BodyFile {
    struct Failure: Error {}

    /// Repeated with a period that divides no buffer size, so that a shifted part shows.
    private static let block = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    static func byte(at index: Int) -> UInt8 { block[index % block.count] }

    static func bytes(count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + block.count)
        while bytes.count < count { bytes += block }
        return Array(bytes.prefix(count))
    }

    static func make(in directory: TemporaryDirectory, size: Int) throws -> String {
        let path = directory.path + "/body"
        let bytes = bytes(count: size)
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard descriptor >= 0 else { throw Failure() }
        defer { close(descriptor) }
        var written = 0
        while written < size {
            let count = unsafe bytes[written...].withUnsafeBytes {
                unsafe write(descriptor, $0.baseAddress, $0.count)
            }
            guard count > 0 else { throw Failure() }
            written += count
        }
        return path
    }

    /// 200 with that part of the file; 500 when it cannot be opened.
    static func response(_ path: String, offset: Int64, count: Int) -> Response {
        guard let file = try? OpenFile(path, flags: O_RDONLY) else { return Response(500) }
        return Response(200, body: .file(FileBody(file, offset: offset, count: Int64(count))))
    }
}
