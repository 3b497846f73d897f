import StoreFaults
import WakeModel
import WakeStore
import WakeSystem

/// Counts the system calls that one operation makes, by what it finds.
///
/// Lines: `NAME SYNCS TRUNCATES`, several of each name.
enum Paths {
    static func run(_ configuration: StoreConfiguration) async {
        let store = Main.open(configuration)
        for round in 1...20 {
            let token = Known.token(round)
            let first = StoreOperation.register(token, Known.pushToken(round, 1))
            let second = StoreOperation.register(token, Known.pushToken(round, 2))
            await count("new", first, store)
            await count("repeated", first, store)
            await count("changed", second, store)
            _ = await store.rotate()
            await count("moved", second, store)
            await count("known", .delete(token), store)
            await count("deleted", .delete(token), store)
            await count("unknown", .delete(Known.token(1000 + round)), store)
        }
        await store.close()
        Line.write("end")
    }

    private static func count(
        _ name: String, _ operation: StoreOperation, _ store: Store
    ) async {
        // The first write to an empty log makes its header durable as well.
        _ = await store.ask(.register(Known.token(0), Known.pushToken(0, 1)))
        let syncs = wake_count(WAKE_SYNC)
        let truncates = wake_count(WAKE_TRUNCATE)
        let answer = await store.ask(operation)
        let path = "\(wake_count(WAKE_SYNC) - syncs) \(wake_count(WAKE_TRUNCATE) - truncates)"
        Line.write("\(name) \(answer.word) \(path)")
    }
}
