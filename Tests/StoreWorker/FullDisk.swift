private import Glibc
import StoreFaults
import WakeModel
import WakeStore
import WakeSystem

/// A store on a real file system that is too small: a tmpfs that only this process sees. Filled
/// by as many callers at once as the first number says.
///
/// Lines: `skipped ERRNO` when none can be mounted, otherwise counts.
enum FullDisk {
    static func run(_ before: StoreConfiguration, callers: Int) async {
        guard let configuration = make(before, on: before.dataDirectory) else { return }
        let store = Main.open(configuration)
        var registered = await fill(store, callers: callers)
        Line.write("condition \(store.counters.condition)")
        // Somebody else takes what is left, to the last byte.
        let hog = hog(configuration.dataDirectory + "/hog")
        Line.write("hog \(hog)")
        // What the log leaves when it is emptied is room for some more.
        var refused = StoreAnswer.done
        var next = 200_000
        while refused == .done {
            refused = await store.ask(.register(Known.token(next), Known.pushToken(0, 1)))
            if refused == .done { registered.append(next) }
            next += 1
        }
        Line.write("register \(refused.word)")
        Line.write("registered \(registered.count)")
        Line.write("renewed \(await renew(registered, store)) of \(registered.count)")
        await delete(registered, store)
        unsafe unlink(configuration.dataDirectory + "/hog")
        let again = await store.ask(.register(Known.token(-1), Known.pushToken(0, 1)))
        Line.write("again \(again.word)")
        await store.close()
        Line.write("end")
    }

    /// A new store on a disk of 8 MiB; nil, which a line says, when there can be none.
    static func make(_ before: StoreConfiguration, on directory: String) -> StoreConfiguration? {
        let number = unsafe wake_mount_private(directory, "8m")
        guard number == 0 else {
            Line.write("skipped \(number)")
            return nil
        }
        var configuration = before
        configuration.reserveBytes = 2 << 20
        do throws(StoreOpenError) {
            try Store.create(configuration)
            return configuration
        } catch {
            Line.write("refused \(error)")
            return nil
        }
    }

    /// A disk on which somebody else's file takes the rest, and rotations on it.
    static func rotate(_ before: StoreConfiguration) async {
        guard let configuration = make(before, on: before.dataDirectory) else { return }
        let store = Main.open(configuration)
        let early = await fill(store, callers: 64, 0..<1000)
        Line.write("registered \(early.count)")
        await rotate(store)
        let file = configuration.dataDirectory + "/hog"
        _ = hog(file, limit: 5 << 19)
        let late = await fill(store, callers: 64, 1000..<100_000)
        Line.write("later \(late.count)")
        _ = hog(file + "-too")
        await rotate(store)
        // What the rotation freed as well.
        _ = hog(file, appending: true)
        Line.write("moved \(await renew(late, store))")
        unsafe unlink(file)
        unsafe unlink(file + "-too")
        Line.write("all \(await renew(late, store))")
        let again = await store.ask(.register(Known.token(-1), Known.pushToken(0, 1)))
        Line.write("again \(again.word)")
        await store.close()
        Line.write("end")
    }

    /// Renews one after another, each with another push token.
    static func renew(_ registered: [Int], _ store: Store) async -> Int {
        var renewed = 0
        for number in registered {
            let answer = await store.ask(
                .register(Known.token(number), Known.pushToken(number, 2)))
            if answer == .done { renewed += 1 }
        }
        return renewed
    }

    static func rotate(_ store: Store) async {
        let outcome = await store.rotate()
        guard case .rotated(let report) = outcome else { return Line.write("unrotated \(outcome)") }
        Line.write("dropped \(report.dropped)")
    }

    static func fill(
        _ store: Store, callers: Int, _ tokens: Range<Int> = 0..<100_000
    ) async -> [Int] {
        await withTaskGroup(of: [Int].self) { group in
            for caller in 0..<callers {
                group.addTask {
                    var registered: [Int] = []
                    let first = tokens.lowerBound + caller
                    for number in stride(from: first, to: tokens.upperBound, by: callers) {
                        let answer = await store.ask(
                            .register(Known.token(number), Known.pushToken(number, 1)))
                        guard answer == .done else { break }
                        registered.append(number)
                    }
                    return registered
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }

    static func delete(_ registered: [Int], _ store: Store) async {
        var deleted = 0
        var left = 0
        for (index, number) in registered.enumerated() {
            let token = Known.token(number)
            let row = index.isMultiple(of: 16) ? await store.ask(.read(token)) : nil
            // The control: what is stored is found.
            if index == 0, !isFound(row, store) { left += 1 }
            if await store.ask(.delete(token)) == .done { deleted += 1 }
            if await store.ask(.read(token)) != .stored(nil) || isFound(row, store) { left += 1 }
        }
        Line.write("deleted \(deleted)")
        Line.write("left \(left)")
    }

    /// Whether anything of a row is in any file.
    private static func isFound(_ answer: StoreAnswer?, _ store: Store) -> Bool {
        guard case .stored(let row?) = answer else { return false }
        return [row.id, row.sealed].contains { bytes in
            unsafe bytes.withUnsafeBytes {
                unsafe wake_found(
                    store.configuration.dataDirectory, $0.baseAddress, $0.count)
            } != 0
        }
    }

    /// - Returns: bytes that could still be written.
    static func hog(_ path: String, limit: Int = .max, appending: Bool = false) -> Int {
        let file = unsafe open(path, O_WRONLY | O_CREAT | (appending ? O_APPEND : 0), 0o600)
        defer { close(file) }
        let zeros = [UInt8](repeating: 0, count: 4096)
        var total = 0
        while total < limit {
            let count = unsafe zeros.withUnsafeBytes { unsafe write(file, $0.baseAddress, 4096) }
            guard count > 0 else { return total }
            total += count
        }
        return total
    }
}

/// A store whose file system has become read-only.
enum ReadOnlyDisk {
    static func run(_ configuration: StoreConfiguration) async {
        let number = unsafe wake_mount_private(configuration.dataDirectory, "64m")
        guard number == 0 else { return Line.write("skipped \(number)") }
        do throws(StoreOpenError) {
            try Store.create(configuration)
            await Main.open(configuration).close()
        } catch {
            return Line.write("refused \(error)")
        }
        let remounted = unsafe wake_remount_readonly(configuration.dataDirectory)
        guard remounted == 0 else { return Line.write("skipped \(remounted)") }
        _ = Main.open(configuration)
    }
}
