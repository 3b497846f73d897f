import Foundation
import Glibc
import Synchronization

/// `REVEILLE_PROPERTY=NAME fuzz [options and folders of libFuzzer]`: libFuzzer chooses inputs by
/// coverage (llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library). The name is no argument,
/// because libFuzzer starts itself again to merge, with its own arguments alone. See `Tests/Fuzz`.
@main
enum Guided {
    static let property = Mutex(Property.frames)

    static func main() {
        let words = CommandLine.arguments
        let name = ProcessInfo.processInfo.environment["REVEILLE_PROPERTY"] ?? ""
        guard let chosen = Property(rawValue: name) else {
            let names = Property.allCases.map(\.rawValue).joined(separator: "|")
            unsafe puts("usage: REVEILLE_PROPERTY=\(names) fuzz [options and folders of libFuzzer]")
            exit(2)
        }
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
