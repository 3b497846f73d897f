/// An open file, closed when the last response that sends it is gone.
package final class OpenFile: Sendable {
    private let descriptor: Descriptor

    /// Takes over `descriptor`, which must be open for reading a regular file.
    package init(owning descriptor: Int32) {
        self.descriptor = Descriptor(owning: descriptor)
    }

    /// For `sendfile` and `fstat`; belongs to this object.
    package var number: Int32 { descriptor.number }
}

/// A part of a file as a response body; sent without passing through user memory.
package struct FileBody: Sendable {
    let file: OpenFile
    let offset: Int64
    let count: Int64

    /// - Parameters:
    ///   - offset: the first byte to send.
    ///   - count: how many bytes follow; a file that turns out shorter breaks the connection.
    package init(_ file: OpenFile, offset: Int64 = 0, count: Int64) {
        precondition(offset >= 0 && count >= 0, "a file body lies inside its file")
        self.file = file
        self.offset = offset
        self.count = count
    }
}
