private import Glibc
import StoreFaults
import Synchronization
import WakeModel
import WakeStore
import WakeSystem

/// A store whose data and keys share a full disk, a tmpfs that only this process sees.
///
/// Lines: `skipped ERRNO` when none can be mounted, otherwise counts.
enum CrowdedDisk {
    enum Kind: Int {
        /// Rotated twice with rows in all of it.
        case rotated
        /// Killed with rows in its log, and started again.
        case killed
        /// Beside a process that takes every byte that is free.
        case beside
        /// Rotated beside one that takes what is free whenever the store has made a file.
        case outrun
    }

    private static let rows = 600

    static func run(_ before: StoreConfiguration, _ number: Int) async {
        guard let kind = Kind(rawValue: number),
            let parent = Files.parent(of: before.dataDirectory)
        else { exit(2) }
        guard let configuration = FullDisk.make(before, on: parent) else { return }
        switch kind {
        case .rotated: await rotate(configuration, parent)
        case .killed: await kill(configuration, parent)
        case .beside: await crowd(configuration, parent)
        case .outrun: await outrun(configuration, parent)
        }
        Line.write("end")
    }

    private static func rotate(_ configuration: StoreConfiguration, _ parent: String) async {
        let store = Main.open(configuration)
        Line.write("registered \(await FullDisk.fill(store, callers: 64).count)")
        Line.write("hog \(FullDisk.hog(parent + "/hog"))")
        await FullDisk.rotate(store)
        await FullDisk.rotate(store)
        Line.write("file \(configuration.fileBytes < 1 << 16 ? "small" : "large")")
        let again = await FullDisk.fill(store, callers: 64, 0..<rows)
        Line.write("again \(again.count)")
        await store.close()
    }

    private static func kill(_ configuration: StoreConfiguration, _ parent: String) async {
        let names = ["", "-wal"].map { configuration.file(of: 1) + $0 }
        var store = Main.open(configuration)
        var registered: [Int] = []
        var files: [[UInt8]] = []
        // Until some of them are in the log alone, which small batches empty.
        repeat {
            let first = registered.count
            registered += await FullDisk.fill(store, callers: rows, first..<first + rows)
            files = names.map { (try? Files.read($0, limit: 1 << 24)) ?? [] }
        } while files[1].isEmpty && registered.count < 10 * rows
        await store.close()
        for (name, bytes) in zip(names, files) { try? Files.replace(name, with: bytes.span) }
        Line.write("log \(files[1].isEmpty ? "empty" : "used")")
        Line.write("hog \(FullDisk.hog(parent + "/hog"))")
        store = Main.open(configuration)
        Line.write("registered \(registered.count)")
        await FullDisk.delete(registered, store)
        await store.close()
    }

    private static func crowd(_ configuration: StoreConfiguration, _ parent: String) async {
        let store = Main.open(configuration)
        let registered = await FullDisk.fill(store, callers: 64, 0..<rows)
        Line.write("registered \(registered.count)")
        let hog = Hog(parent + "/hog")
        await FullDisk.delete(registered, store)
        await FullDisk.rotate(store)
        Line.write("hog \(hog.stop())")
        await store.close()
    }

    private static func outrun(_ configuration: StoreConfiguration, _ parent: String) async {
        let store = Main.open(configuration)
        Line.write("registered \(await FullDisk.fill(store, callers: 64, 0..<rows).count)")
        Line.write("hog \(FullDisk.hog(parent + "/hog"))")
        unsafe wake_hog_at_opening(strdup(parent + "/hog"))
        await FullDisk.rotate(store)
        await store.close()
    }
}

/// Takes what is free, to the last byte, again and again.
private final class Hog: Sendable {
    private let isStopped = Atomic(false)
    private let taken = Atomic(0)
    private let ended = Semaphore()

    init(_ path: String) {
        let begun = Semaphore()
        try? SystemThread.start { [self] in
            var round = 0
            while !isStopped.load(ordering: .relaxed) {
                taken.add(FullDisk.hog(path, appending: true), ordering: .relaxed)
                round += 1
                if round == 1 { begun.post() }
                sched_yield()
            }
            ended.post()
        }
        begun.wait()
    }

    func stop() -> Int {
        isStopped.store(true, ordering: .relaxed)
        ended.wait()
        return taken.load(ordering: .relaxed)
    }
}
