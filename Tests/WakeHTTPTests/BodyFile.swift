import Glibc
import TestSupport

@testable import WakeHTTP

/// A file with contents that tell every place apart, for responses.
enum BodyFile {
    struct Failure: Error {}

    static func byte(at index: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: index &* 31 &+ index >> 8)
    }

    static func make(in directory: TemporaryDirectory, size: Int) throws -> String {
        let path = directory.path + "/body"
        let bytes = (0..<size).map(byte(at:))
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
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return Response(500) }
        let file = OpenFile(owning: descriptor)
        return Response(200, body: .file(FileBody(file, offset: offset, count: Int64(count))))
    }
}
