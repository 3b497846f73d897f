internal import Dispatch
private import Glibc
import WakeSystem

/// The signal between a user's processes that the state changed: any byte into a FIFO beside it.
final class ChangeNotifier {
    private let file: OpenFile
    private let source: any DispatchSourceRead

    /// Calls `onChange` on any thread, perhaps without cause; nil when the FIFO cannot be made.
    init?(_ directory: String, onChange: @escaping @Sendable () -> Void) {
        let path = Self.path(directory)
        if unsafe mkfifo(path, 0o600) != 0, errno != EEXIST { return nil }
        // fifo(7): opened for both, reading never sees an end of file.
        guard let file = try? OpenFile(path, flags: O_RDWR | O_NONBLOCK),
            let status = try? file.status(),
            status.isPrivate, !status.isRegular, !status.isDirectory
        else { return nil }
        self.file = file
        let descriptor = file.descriptor
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor)
        source.setEventHandler {
            var bytes: (UInt64, UInt64) = (0, 0)
            while unsafe read(descriptor, &bytes, 16) > 0 {}
            onChange()
        }
        source.resume()
    }

    func close() {
        // dispatch_source_cancel(3): the descriptor must live until the source let go of it.
        let file = file
        source.setCancelHandler { _ = file }
        source.cancel()
    }

    /// Notifies the process that listens; none is no error.
    static func notify(_ directory: String) {
        let file = try? OpenFile(path(directory), flags: O_WRONLY | O_NONBLOCK)
        let byte: [UInt8] = [1]
        try? file?.write(byte.span)
    }

    private static func path(_ directory: String) -> String { directory + "/changes" }
}
