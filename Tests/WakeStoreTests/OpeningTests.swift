private import Glibc
import TestSupport
import Testing
import WakeModel
import WakeStore
import WakeSystem

@Suite("A store that is not right is refused and not touched", .timeLimit(.minutes(5)))
struct OpeningTests {
    /// Opens and expects a refusal after which every byte is what it was.
    private func refusal(_ place: StorePlace) -> StoreOpenError? {
        let files = [place.file(0), place.file(), place.keys]
        let before = files.map(StorePlace.bytes)
        let names = StorePlace.names(in: place.data)
        let examined: StoreOpenError?
        do throws(StoreOpenError) {
            #expect(try Store.examine(place.configuration) == false)
            examined = nil
        } catch { examined = error }
        #expect(StorePlace.names(in: place.data) == names && files.map(StorePlace.bytes) == before)
        do throws(StoreOpenError) {
            _ = try Store(opening: place.configuration)
            #expect(examined == nil)
            return nil
        } catch {
            #expect(examined == error)
            #expect(files.map(StorePlace.bytes) == before)
            #expect(StorePlace.names(in: place.data) == names)
            let message = error.message(place.configuration)
            #expect(message.contains(place.path) && !message.contains("\n"))
            return error
        }
    }

    @Test("nothing there")
    func nothing() {
        let place = StorePlace()
        #expect(refusal(place) == .missing(.dataDirectory))
    }

    @Test("a missing database or key file")
    func missing() async throws {
        let place = StorePlace()
        try await place.create(registrations: 1)
        try Files.rename(place.keys, to: place.keys + ".away")
        #expect(refusal(place) == .keyFile(.file(FileError(.open, ENOENT))))
        try Files.rename(place.keys + ".away", to: place.keys)
        for generation in [0, 1] as [UInt64] {
            try Files.rename(place.file(generation), to: place.path + "/away")
            #expect(refusal(place) == .missing(.database))
            try Files.rename(place.path + "/away", to: place.file(generation))
        }
        #expect(refusal(place) == nil)
    }

    @Test("the keys of before a rotation, or of after it, with the files of another moment")
    func otherGenerations() async throws {
        let place = StorePlace()
        try await place.create(registrations: 1)
        let before = StorePlace.bytes(of: place.keys)
        let store = try Store(opening: place.configuration)
        try await store.rotated()
        await store.close()
        try Files.replace(place.keys, with: before.span)
        #expect(refusal(place) == .missing(.database))
    }

    @Test("a database of 0 bytes, or shorter than its header")
    func empty() async throws {
        let place = StorePlace()
        try await place.create(registrations: 1)
        for count in [0, 1, 99, 16_384] {
            let bytes = [UInt8](repeating: 0, count: count)
            try Files.replace(place.file(), with: bytes.span)
            #expect(refusal(place) == .empty)
        }
    }

    @Test("a file that is no database")
    func noDatabase() async throws {
        let place = StorePlace()
        try await place.create()
        try Files.replace(place.file(), with: Sodium.random(8192).span)
        #expect(refusal(place) == .notADatabase)
    }

    @Test("a database of another program, or of a newer version")
    func foreign() async throws {
        let place = StorePlace()
        try await place.create(registrations: 1)
        try place.database().execute("PRAGMA application_id=77")
        #expect(refusal(place) == .foreignApplication(77))
        let application = StoreSchema.applicationID
        try place.database().execute("PRAGMA application_id=\(application); PRAGMA user_version=2")
        #expect(refusal(place) == .newerSchema(2))
        try place.database().execute("PRAGMA user_version=0")
        #expect(refusal(place) == .schemaDiffers)
    }

    @Test(
        "tables that are not to the letter ours",
        arguments: [
            "CREATE INDEX extra ON registration(sealed)",
            "CREATE TABLE extra(email TEXT)",
            "CREATE VIEW extra AS SELECT id FROM registration",
            "DROP TABLE moved",
            "ALTER TABLE registration ADD COLUMN created INTEGER",
        ])
    func schema(_ change: String) async throws {
        let place = StorePlace()
        try await place.create()
        try place.database().execute(change)
        #expect(throws: StoreOpenError.schemaDiffers) { try Store(opening: place.configuration) }
    }

    @Test("a key file that is short, long, changed in any byte, or none")
    func damagedKeys() async throws {
        let place = StorePlace()
        try await place.create(registrations: 1)
        let good = StorePlace.bytes(of: place.keys)
        #expect(good.count == KeyFile.byteCount)
        var bad = [Array(good.dropLast()), good + [0], [], Sodium.random(120)]
        for index in good.indices {
            var bytes = good
            bytes[index] ^= 1
            bad.append(bytes)
        }
        for bytes in bad {
            try Files.replace(place.keys, with: bytes.span)
            #expect(throws: StoreOpenError.keyFileDamaged) {
                try Store(opening: place.configuration)
            }
        }
        try Files.replace(place.keys, with: good.span)
        #expect(refusal(place) == nil)
    }

    @Test("the keys of another store, as soon as there is a row to try them on")
    func foreignKeys() async throws {
        let (place, other) = (StorePlace(), StorePlace())
        try await place.create(registrations: 1)
        try await other.create()
        try Files.replace(place.keys, with: StorePlace.bytes(of: other.keys).span)
        #expect(refusal(place) == .foreignKeys)
    }

    @Test("the keys of another store, with rows that a killed process left in the log alone")
    func foreignKeysOfLog() async throws {
        let (place, copy, other) = (StorePlace(), StorePlace(), StorePlace())
        try await place.create()
        try await other.create()
        try await copy.create()
        let store = try Store(opening: place.configuration)
        _ = await store.ask(.register(Known.token(1), Known.pushToken(1)))
        for name in ["/generation-1.db", "/generation-1.db-wal"] {
            try Files.replace(copy.data + name, with: StorePlace.bytes(of: place.data + name).span)
        }
        await store.close()
        try Files.replace(copy.keys, with: StorePlace.bytes(of: other.keys).span)
        let files = [copy.file(), copy.file() + "-wal"]
        let before = files.map(StorePlace.bytes)
        #expect(throws: StoreOpenError.foreignKeys) { try Store.examine(copy.configuration) }
        try Files.replace(copy.keys, with: StorePlace.bytes(of: place.keys).span)
        #expect(try Store.examine(copy.configuration) == false)
        #expect(files.map(StorePlace.bytes) == before)
    }

    @Test("files that others could read or replace")
    func permissions() async throws {
        let place = StorePlace()
        try await place.create(registrations: 1)
        unsafe chmod(place.data, 0o750)
        #expect(refusal(place) == .notPrivate(.dataDirectory, mode: 0o750))
        unsafe chmod(place.data, 0o700)
        unsafe chmod(place.keys, 0o604)
        #expect(refusal(place) == .keyFile(.notPrivate(mode: 0o604)))
        unsafe chmod(place.keys, 0o600)
        unsafe chmod(place.file(), 0o640)
        #expect(refusal(place) == .notPrivate(.database, mode: 0o640))
    }

    @Test("symbolic links in place of the files")
    func links() async throws {
        let place = StorePlace()
        try await place.create(registrations: 1)
        for (part, path) in [
            (StoreOpenError.Part.database, place.file()),
            (.dataDirectory, place.data),
        ] {
            try Files.rename(path, to: path + ".real")
            unsafe symlink(path + ".real", path)
            #expect(refusal(place) == .wrongKind(part))
            try Files.remove(path)
            try Files.rename(path + ".real", to: path)
        }
        // A key may come as a link: of an orchestrator's Secret it is one.
        try Files.rename(place.keys, to: place.keys + ".real")
        unsafe symlink(place.keys + ".real", place.keys)
        #expect(refusal(place) == nil)
    }

    @Test("a link, a pipe or a directory in place of the reserve")
    func reserve() async throws {
        let place = StorePlace()
        try await place.create(registrations: 1)
        let path = place.configuration.reserveFile
        try Files.remove(path)
        unsafe symlink(place.keys, path)
        #expect(refusal(place) == .wrongKind(.reserve))
        try Files.remove(path)
        unsafe mkfifo(path, 0o600)
        #expect(refusal(place) == .wrongKind(.reserve))
        try Files.remove(path)
        try Files.makeDirectory(path)
        #expect(refusal(place) == .wrongKind(.reserve))
        #expect(unsafe rmdir(path) == 0)
        #expect(refusal(place) == nil)
    }

    @Test("keys inside the data directory, by whatever name")
    func keysInside() async throws {
        let place = StorePlace()
        try await place.create()
        try Files.rename(place.keys, to: place.data + "/master")
        for path in [place.data + "/master", place.data + "/../data/master"] {
            let configuration = StoreConfiguration(dataDirectory: place.data, keyFile: path)
            #expect(throws: StoreOpenError.keyFileInsideData) {
                try Store(opening: configuration)
            }
        }
    }

    @Test("a read-only file system")
    func readOnly() throws {
        let place = StorePlace()
        try place.makeDirectories()
        let worker = StoreWorkerProcess("readonly", data: place.data, keys: place.keys)
        let line = worker.line()
        if line?.hasPrefix("skipped") == true {
            try Test.cancel("needs the right to mount a tmpfs in a namespace of its own")
        }
        #expect(line == "refused readOnly")
        #expect(worker.finish() == 1)
    }
}
