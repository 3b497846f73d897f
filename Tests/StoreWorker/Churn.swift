import WakeModel
import WakeStore

/// Registers and deletes without end; one operation under way per task. Each has two tokens and
/// goes on with the other one after a delete, so that a kill finds deleted ones at rest.
///
/// Lines: `try TOKEN VERSION` (version 0 is a delete) before the store is asked,
/// `ok TOKEN` after it has answered.
enum Churn {
    static func run(_ configuration: StoreConfiguration, seed: Int, tokens: Int) async {
        let store = Main.open(configuration)
        Line.write("open")
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<tokens {
                group.addTask { await churn(number, number + tokens, seed: seed, store) }
            }
        }
    }

    @concurrent
    static func churn(_ first: Int, _ second: Int, seed: Int, _ store: Store) async {
        var random = SplitMix(state: UInt64(seed) << 20 + UInt64(first))
        var (number, other) = (first, second)
        while true {
            let isDelete = random.next() % 4 == 0
            // Never 0, and different in every run.
            let version = isDelete ? 0 : Int(random.next() >> 2) | 1
            Line.write("try \(number) \(version)")
            let operation: StoreOperation =
                isDelete
                ? .delete(Known.token(number))
                : .register(Known.token(number), Known.pushToken(number, version))
            guard await store.ask(operation) == .done else {
                return Line.write("failed \(number)")
            }
            Line.write("ok \(number)")
            if isDelete { swap(&number, &other) }
        }
    }
}

/// A small deterministic generator (Steele, Lea, Flood 2014).
struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
