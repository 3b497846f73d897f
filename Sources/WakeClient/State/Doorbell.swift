internal import Dispatch
private import Glibc
import WakeFiles

/// How another process of the same user says that it changed something: one byte into a FIFO in
/// the state directory. What changed stands in the state; the byte means nothing.
final class Doorbell {
    private let file: OpenFile
    private let source: any DispatchSourceRead

    /// - Parameter onRing: called on some thread; may be called without cause.
    /// - Returns: nil when it cannot be made; then changes are noticed later.
    init?(_ directory: String, onRing: @escaping @Sendable () -> Void) {
        let path = directory + "/bell"
        if unsafe mkfifo(path, 0o600) != 0, errno != EEXIST { return nil }
        do throws(FileError) {
            // fifo(7): opened for both, reading never sees an end of file.
            file = try OpenFile(path, flags: O_RDWR | O_NONBLOCK)
            let status = try file.status()
            guard status.isPrivate, !status.isRegular, !status.isDirectory else { return nil }
        } catch {
            return nil
        }
        let descriptor = file.descriptor
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor)
        source.setEventHandler {
            var bytes: (UInt64, UInt64) = (0, 0)
            while unsafe read(descriptor, &bytes, 16) > 0 {}
            onRing()
        }
        source.resume()
    }

    func close() {
        // dispatch_source_cancel(3): the descriptor must live until the source let go of it.
        let file = file
        source.setCancelHandler { _ = file }
        source.cancel()
    }

    /// Rings at whoever listens there; nobody is no error.
    static func ring(_ directory: String) {
        guard
            let file = try? OpenFile(
                directory + "/bell", flags: O_WRONLY | O_NONBLOCK)
        else { return }
        let byte: [UInt8] = [1]
        try? file.write(byte.span)
    }
}
