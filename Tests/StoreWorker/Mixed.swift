import StoreFaults
import WakeModel
import WakeStore

/// Bursts of registrations, renewals and deletes with rotations among them, for a replay that cuts
/// the power anywhere.
///
/// Lines: as of `Rotate`.
enum Mixed {
    static let tokens = 48

    static func run(
        _ before: StoreConfiguration, seed: Int, bursts: Int, traceTo path: String
    ) async {
        guard unsafe wake_trace(path) == 0 else { return Line.write("untraced") }
        var configuration = before
        configuration.reserveBytes = 1 << 20
        let first = wake_steps()
        let store = Main.open(configuration)
        Line.write("open")
        var random = SplitMix(state: UInt64(seed))
        for burst in 1...bursts {
            await withTaskGroup(of: Void.self) { group in
                if burst.isMultiple(of: 9) { group.addTask { _ = await Rotate.rotate(store) } }
                // Without a delete in it a burst leaves the log as it is, and lies in it alone.
                let deletes = burst % 3 == 0
                for number in 0..<tokens where random.next() % 3 > 0 {
                    let isDelete = deletes && random.next() % 2 == 0
                    group.addTask { await Rotate.ask(number, isDelete ? 0 : burst, store) }
                }
            }
        }
        await store.close()
        Line.write("steps \(wake_steps() - first)")
    }
}
