private import Glibc
import StoreFaults
import WakeModel
import WakeStore
import WakeSystem

/// A fixed sequence of operations during which one system call fails.
///
/// Numbers: kind of call, which one, errno, whether all later ones fail too, whether to rotate
/// meanwhile. Lines as of `Rotate`, with `no TOKEN ANSWER` for what was not acknowledged, `left
/// TOKEN` when a delete was acknowledged and something of its row is still in a file, and `calls
/// COUNT` of that kind and `end` when the store could be closed.
enum Fault {
    private static let tokens = 12
    private static let rounds = 6

    static func run(_ before: StoreConfiguration, _ numbers: [Int]) async {
        // Whatever fails, it must not hang: then it ends by SIGALRM.
        alarm(600)
        var configuration = before
        configuration.reserveBytes = 1 << 20
        let store = Main.open(configuration)
        Line.write("open")
        let call = wake_call(rawValue: UInt32(numbers[0]))
        let first = wake_count(call)
        wake_fail(call, numbers[1], Int32(numbers[2]), Int32(numbers[3]))
        let rotates = numbers.count > 4 && numbers[4] == 1
        for round in 1...rounds {
            await withTaskGroup(of: Void.self) { group in
                if rotates, round.isMultiple(of: 2) {
                    group.addTask { await Rotate.rotate(store) }
                }
                for number in 0..<tokens {
                    let isDelete = (round + number) % 3 == 0
                    group.addTask { await ask(number, isDelete ? 0 : round, store) }
                }
            }
        }
        await store.close()
        Line.write("calls \(wake_count(call) - first)")
        Line.write("end")
    }

    @concurrent
    private static func ask(_ number: Int, _ version: Int, _ store: Store) async {
        guard version == 0 else { return await Rotate.ask(number, version, store) }
        let token = Known.token(number)
        let before = await store.ask(.read(token))
        Line.write("try \(number) 0")
        let answer = await store.ask(.delete(token))
        guard answer == .done else { return Line.write("no \(number) \(answer.word)") }
        Line.write("ok \(number)")
        guard case .stored(.some(let stored)) = before else { return }
        let directory = store.configuration.dataDirectory
        for bytes in [stored.id, stored.sealed] {
            let found = unsafe bytes.withUnsafeBytes {
                unsafe wake_found(directory, $0.baseAddress, $0.count)
            }
            if found != 0 { Line.write("left \(number) \(found)") }
        }
    }
}
