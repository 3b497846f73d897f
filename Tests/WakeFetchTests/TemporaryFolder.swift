import Glibc
import Synchronization

/// A private folder that is gone, with its files, when the value is.
final class TemporaryFolder: Sendable {
    let path: String
    private let files = Mutex<Set<String>>([])

    init() {
        var template = Array("/tmp/wakefetch-XXXXXX".utf8CString)
        precondition(unsafe mkdtemp(&template) != nil)
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for file in files.withLock({ $0 }) { unsafe unlink(file) }
        unsafe rmdir(path)
    }

    /// The path of a file that is removed with the folder, whoever writes it.
    func file(_ name: String) -> String {
        let file = "\(path)/\(name)"
        files.withLock { _ = $0.insert(file) }
        return file
    }

    @discardableResult
    func write(_ name: String, _ text: String) -> String {
        let file = file(name)
        let descriptor = unsafe open(file, O_CREAT | O_WRONLY | O_TRUNC, 0o600)
        let bytes = Array(text.utf8)
        precondition(unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
        close(descriptor)
        return file
    }
}

/// Environment variables; only for processes of one thread or of one test.
func setEnvironment(_ name: String, _ value: String) {
    unsafe setenv(name, value, 1)
}

func removeEnvironment(_ name: String) {
    unsafe unsetenv(name)
}
