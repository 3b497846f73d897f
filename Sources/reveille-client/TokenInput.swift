import WakeCommand
import WakeFiles
import WakeModel

/// A push token from a file or standard input, wiped after use.
struct TokenInput: ~Copyable {
    private var text: [UInt8]

    init(_ invocation: Invocation) throws(CommandFailure) {
        if let path = invocation.value("--file") {
            do throws(FileError) {
                text = try Files.readGiven(path, limit: 4096)
            } catch {
                throw CommandFailure("the token's file cannot be read: \(error.reason)")
            }
        } else {
            text = try Console().input(limit: 4096)
        }
        while let last = text.last, last == 0x0A || last == 0x0D || last == 0x20 {
            text.removeLast()
        }
    }

    deinit {
        var text = text
        wipe(&text)
    }

    func lend<Result, Failure: Error>(
        to body: ([UInt8]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(text)
    }
}
