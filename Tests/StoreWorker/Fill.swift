import WakeModel
import WakeStore

/// Registers many push tokens of APNs, each under an instance token of its own, many at a time.
///
/// Lines: `open`, then `filled COUNT`.
enum Fill {
    static func run(_ configuration: StoreConfiguration, first: Int, count: Int) async {
        let store = Main.open(configuration)
        Line.write("open")
        // As many at once as the store commits at once.
        let callers = 4 * Limits.batchOperations
        await withTaskGroup(of: Int.self) { group in
            for caller in 0..<min(callers, count) {
                group.addTask {
                    var done = 0
                    for number in stride(from: first + caller, to: first + count, by: callers) {
                        let token = PushTokenNumber.token(number)
                        let answer = await store.ask(.register(Known.token(number), token))
                        if answer == .done { done += 1 }
                    }
                    return done
                }
            }
            var done = 0
            for await count in group { done += count }
            Line.write("filled \(done)")
        }
        await store.close()
        Line.write("closed")
    }
}

/// Push tokens of APNs by number: 28 zeros and the number, big-endian.
enum PushTokenNumber {
    static func token(_ number: Int) -> PushToken {
        let bytes =
            [UInt8](repeating: 0, count: 28)
            + (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
        do {
            return try PushToken(service: .apns, bytes: bytes)
        } catch {
            preconditionFailure("32 bytes are a push token of APNs")
        }
    }
}
