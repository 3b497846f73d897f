private import Glibc
import StoreFaults
import WakeStore
import WakeSystem

/// Three rotations with registrations, renewals and deletes between and beside them, for a process
/// that dies at a given step or writes down every step.
///
/// Lines: as of `Churn`, `rotating` before and `rotated NUMBER` after each rotation, and
/// `steps COUNT` at the end.
enum Rotate {
    /// - Parameters:
    ///   - dieAt: step at which it ends, counted from the opening; 0 for none.
    ///   - arguments: the last of them is the path of a trace, when it begins with a slash.
    static func run(
        _ configuration: StoreConfiguration, dieAt: Int, traceTo arguments: [String]
    ) async {
        if let path = arguments.dropFirst(4).last, path.hasPrefix("/") {
            guard unsafe wake_trace(path) == 0 else { return Line.write("untraced") }
        }
        wake_die(dieAt)
        let first = wake_steps()
        let store = Main.open(configuration)
        Line.write("open")
        await put(0..<30, 1, store)
        await rotate(store)
        await put(0..<10, 2, store)
        await delete(20..<25, store)
        await rotate(store)
        // While rows move.
        async let rotation = rotate(store)
        await put(30..<35, 3, store)
        await delete(0..<3, store)
        await put(5..<8, 4, store)
        await delete(3..<5, store)
        await put(8..<12, 4, store)
        await delete(30..<32, store)
        _ = await rotation
        await put(5..<8, 5, store)
        await store.close()
        Line.write("steps \(wake_steps() - first)")
    }

    /// Rotations without end, while `Churn` goes on.
    static func spin(_ configuration: StoreConfiguration, seed: Int, tokens: Int) async {
        let store = Main.open(configuration)
        Line.write("open")
        await withTaskGroup(of: Void.self) { group in
            group.addTask { while await rotate(store) {} }
            for number in 0..<tokens {
                group.addTask {
                    await Churn.churn(number, number + tokens, seed: seed, store)
                }
            }
        }
    }

    @discardableResult
    static func rotate(_ store: Store) async -> Bool {
        Line.write("rotating")
        guard case .rotated(let report) = await store.rotate() else {
            Line.write("unrotated")
            return false
        }
        Line.write("rotated \(report.generation)")
        return true
    }

    private static func put(_ tokens: Range<Int>, _ version: Int, _ store: Store) async {
        await withTaskGroup(of: Void.self) { group in
            for number in tokens { group.addTask { await ask(number, version, store) } }
        }
    }

    private static func delete(_ tokens: Range<Int>, _ store: Store) async {
        await put(tokens, 0, store)
    }

    /// Registers a version, or deletes for version 0.
    @concurrent
    static func ask(_ number: Int, _ version: Int, _ store: Store) async {
        Line.write("try \(number) \(version)")
        let token = Known.token(number)
        let operation: StoreOperation =
            version == 0 ? .delete(token) : .register(token, Known.pushToken(number, version))
        await withCheckedContinuation { continuation in
            // At the moment of the answer: nothing that comes later may help it.
            store.submit(operation) { answer in
                Line.write(answer == .done ? "ok \(number)" : "no \(number) \(answer.word)")
                continuation.resume()
            }
        }
    }
}
