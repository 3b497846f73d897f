import StoreFaults
import WakeModel
import WakeStore
import WakeSystem

/// Bursts of registrations, renewals and deletes with rotations among them, for a replay that cuts
/// the power anywhere.
///
/// Lines: as of `Rotate`; `skipped ERRNO` where a small disk is wanted and cannot be mounted.
enum Mixed {
    static let tokens = 48

    static func run(
        _ before: StoreConfiguration, seed: Int, bursts: Int, onFullDisk isCrowded: Bool,
        traceTo path: String
    ) async {
        guard unsafe wake_trace(path) == 0 else { return Line.write("untraced") }
        var configuration = before
        configuration.reserveBytes = 1 << 20
        if isCrowded, !makeSmallDisk(configuration) { return }
        let first = wake_steps()
        let store = Main.open(configuration)
        Line.write("open")
        var random = SplitMix(state: UInt64(seed))
        var absent = Set(0..<tokens)
        for burst in 1...bursts {
            // From here on somebody else has every byte that is free.
            if isCrowded, burst == 3 { _ = FullDisk.hog(configuration.dataDirectory + "/../hog") }
            // First those who are not there, and nothing else: only such a burst lies in the log
            // alone. Then anybody, then deletes among them.
            let versions = (0..<tokens).compactMap { number -> (number: Int, version: Int)? in
                let (dice, coin) = (random.next() % 3, random.next() % 2)
                if burst % 3 == 1 { return absent.contains(number) ? (number, burst) : nil }
                guard dice > 0 else { return nil }
                return (number, burst % 3 == 0 && coin == 0 ? 0 : burst)
            }
            let isRotating = burst.isMultiple(of: 9)
            // Some move and leave within one rotation.
            let steps = versions.flatMap { number, version in
                isRotating && version > 0 && number % 3 == 0
                    ? [(number, version), (number, 0)] : [(number, version)]
            }
            for (number, version) in steps {
                if version == 0 { absent.insert(number) } else { absent.remove(number) }
            }
            await withTaskGroup(of: Void.self) { group in
                guard isRotating else {
                    for (number, version) in steps {
                        group.addTask { await Rotate.ask(number, version, store) }
                    }
                    return
                }
                // One after the other, so that they come before the rotation and after it.
                group.addTask { _ = await Rotate.rotate(store) }
                group.addTask {
                    for (number, version) in steps { await Rotate.ask(number, version, store) }
                }
            }
        }
        await store.close()
        Line.write("steps \(wake_steps() - first)")
    }

    /// Makes the store on a disk that only this process sees.
    private static func makeSmallDisk(_ configuration: StoreConfiguration) -> Bool {
        guard let parent = Files.parent(of: configuration.dataDirectory),
            let keys = configuration.keyFile.flatMap(Files.parent(of:))
        else { return false }
        let number = unsafe wake_mount_private(parent, "4m")
        guard number == 0 else {
            Line.write("skipped \(number)")
            return false
        }
        do {
            for directory in [configuration.dataDirectory, keys] {
                try Files.makeDirectory(directory)
                unsafe wake_trace_directory(directory)
            }
            try Store.create(configuration)
        } catch {
            Line.write("refused \(error)")
            return false
        }
        return true
    }
}
