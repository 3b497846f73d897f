import Glibc
import Synchronization

/// `fuzz PROPERTY [options and folders of libFuzzer]`: libFuzzer chooses inputs by coverage
/// (llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library). See `Tests/Fuzz`.
@main
enum Guided {
    static let property = Mutex(Property.frames)

    static func main() {
        var words = CommandLine.arguments
        guard words.count > 1, let chosen = Property(rawValue: words[1]) else {
            let names = Property.allCases.map(\.rawValue).joined(separator: "|")
            unsafe puts("usage: fuzz \(names) [options and folders of libFuzzer]")
            exit(2)
        }
        words.remove(at: 1)
        property.withLock { $0 = chosen }
        var count = Int32(words.count)
        let list = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(
            capacity: words.count + 1)
        for (index, word) in words.enumerated() { unsafe list[index] = unsafe strdup(word) }
        unsafe list[words.count] = nil
        var start = unsafe list
        exit(unsafe runDriver(&count, &start, testOneInput))
    }
}

@_cdecl("LLVMFuzzerTestOneInput")
private func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let input = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
    let property = Guided.property.withLock { $0 }
    guard let violation = property.violation(input) else { return 0 }
    unsafe puts("\(property.rawValue): \(violation)")
    fflush(nil)
    abort()
}

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ words: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32
