import StoreFaults
import WakeModel
import WakeStore

/// A fixed sequence of operations during which one system call fails.
///
/// Numbers: kind of call, which one, errno, whether all later ones fail too. Lines as of `Churn`,
/// with `no TOKEN ANSWER` for what was not acknowledged, and `end` when the store could be closed.
enum Fault {
    private static let tokens = 12
    private static let rounds = 6

    static func run(_ configuration: StoreConfiguration, _ numbers: [Int]) async {
        let store = Main.open(configuration)
        Line.write("open")
        wake_fail(
            wake_call(rawValue: UInt32(numbers[0])), numbers[1], Int32(numbers[2]),
            Int32(numbers[3]))
        for round in 1...rounds {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<tokens {
                    let isDelete = (round + number) % 3 == 0
                    group.addTask { await ask(number, isDelete ? 0 : round, store) }
                }
            }
        }
        await store.close()
        Line.write("end")
    }

    @concurrent
    private static func ask(_ number: Int, _ version: Int, _ store: Store) async {
        Line.write("try \(number) \(version)")
        let token = Known.token(number)
        let answer = await store.ask(
            version == 0
                ? .delete(token) : .register(token, Known.pushToken(number, version)))
        Line.write(answer == .done ? "ok \(number)" : "no \(number) \(answer.word)")
    }
}
