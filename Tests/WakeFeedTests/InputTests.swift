import Testing
import WakeModel
import WakeSystem

@testable import WakeFeed
@testable import WakePublish

@Suite("Input of a publish")
struct InputTests {
    private func text(_ bytes: [UInt8]) -> String {
        String(decoding: Hex.encode(bytes.span), as: UTF8.self)
    }

    private func base64(_ bytes: [UInt8]) -> String {
        String(decoding: Base64URL.encode(bytes.span), as: UTF8.self)
    }

    private func secretError(_ text: String, notes: String? = nil) -> FeedInputError? {
        failure { () throws(FeedInputError) in
            _ = try FeedInput(
                secretsFrom: Array(text.utf8), notes: notes.map { Array($0.utf8) })
        }
    }

    private func digestError(_ text: String) -> FeedInputError? {
        failure { () throws(FeedInputError) in
            _ = try FeedInput(digestsFrom: Array(text.utf8))
        }
    }

    /// In the order of their lines.
    private func secrets(_ text: String, notes: String? = nil) throws -> [FeedInput.Item] {
        let input = try FeedInput(
            secretsFrom: Array(text.utf8), notes: notes.map { Array($0.utf8) })
        guard case .secrets(let items) = input else { return [] }
        #expect(zip(items, items.dropFirst()).allSatisfy { $0.digest < $1.digest })
        return items.sorted { $0.line < $1.line }
    }

    @Test("hexadecimal and base64url lines give the same secrets; blank lines and CR are ignored")
    func encodings() throws {
        let bytes = (1...3).map(Sample.secret)
        let expected = bytes.map { SecretBytes($0) }
        let hex = try secrets(bytes.map(text).joined(separator: "\n"))
        #expect(hex.map(\.secret) == expected)
        let windows = try secrets(bytes.map { base64($0) + "\r\n" }.joined(separator: "\r\n"))
        #expect(windows.map(\.secret) == expected)
        let raw = try FeedInput(secretsFrom: Array(bytes.joined()), encoding: .raw(record: 32))
        #expect(raw.count == 3)
        let upper = try secrets(text(bytes[0]).uppercased())
        #expect(upper.map(\.secret) == [expected[0]])
    }

    @Test("errors name the line")
    func lines() {
        let good = text(Sample.secret(1))
        #expect(secretError("") == .empty)
        #expect(secretError("\n\r\n\n") == .empty)
        #expect(secretError("not!\n") == .notText(line: 1, .character(4, .other)))
        #expect(
            secretError("\(good)\n\n\(good.dropLast())x\n")
                == .notText(line: 3, .character(64, .letter)))
        #expect(secretError("\(good)\n\(good.dropLast())") == .notText(line: 2, .length))
        #expect(
            secretError("\(good)\nabcd\n") == .length(line: 2, bytes: 2, allowed: 16...1024))
        #expect(
            secretError(String(repeating: "_-", count: 684))
                == .length(line: 1, bytes: 1026, allowed: 16...1024))
        #expect(
            digestError("\(good)\n") == .length(line: 1, bytes: 32, allowed: 16...16))
        #expect(digestError("00112233445566778899aabbccddeeff\n") == nil)
        #expect(digestError("ABEiM0RVZneImaq7zN3u_w\n") == nil, "base64url of the same")
        #expect(
            FeedInputError.notText(line: 3, .character(7, .padding)).message
                == "line 3: character 7 is the padding of base64, which base64url leaves out")
        #expect(
            FeedInputError.length(line: 2, bytes: 2, allowed: 16...16).message
                == "line 2: 2 bytes where 16 are needed")
    }

    @Test(
        "what a person mistypes or an editor adds is refused with its place, alone on its line too")
    func mistyped() {
        let hex = text(Sample.secret(1))
        let url = base64(Sample.secret(1))
        let cases: [(String, FeedInputError.Flaw)] = [
            ("\u{FEFF}\(hex)", .character(1, .byteOrderMark)), (" \(hex)", .character(1, .blank)),
            ("\u{FEFF}\(url)", .character(1, .byteOrderMark)), ("\(hex) ", .character(65, .blank)),
            ("\(url)\t", .character(44, .blank)), ("\"\(url)\"", .character(1, .quote)),
            ("'\(hex)'", .character(1, .quote)), ("\(url)=", .character(44, .padding)),
            ("\(url.dropLast())/", .character(43, .standardBase64)),
            ("\(hex.dropLast())g", .character(64, .letter)), ("\(hex.dropLast())", .length),
            ("\(hex.dropLast(2))-_", .character(63, .letter)), ("\(hex),", .character(65, .other)),
            ("\(url)AA", .length), ("\(url.dropLast())B", .rest),
            ("\(hex)\0", .character(65, .other)),
            ("0x\(hex)", .character(2, .letter)),
        ]
        for (line, flaw) in cases {
            #expect(secretError(line) == .notText(line: 1, flaw), "\(line)")
            #expect(secretError("\n\(line)\r\n") == .notText(line: 2, flaw), "\(line)")
        }
    }

    @Test("the client's list is a publish's: in the order of the lines, each once, text on request")
    func list() throws {
        let bytes = [3, 1, 2, 1].map(Sample.secret)
        let lines = Array(bytes.map(text).joined(separator: "\r\n\n").utf8)
        #expect(try FeedInput.secretLines(of: lines) == Array(bytes.prefix(3)))
        let words = Array(" a secret in words \n\nshort, but not too".utf8)
        #expect(
            try FeedInput.secretLines(of: words, encoding: .plain)
                == [Array(" a secret in words ".utf8), Array("short, but not too".utf8)])
        let short = failure { () throws(FeedInputError) in
            _ = try FeedInput.secretLines(of: Array("fifteen bytes..".utf8), encoding: .plain)
        }
        #expect(short == .length(line: 1, bytes: 15, allowed: 16...1024))
    }

    @Test("a raw file must be whole records of an allowed size")
    func raw() {
        func error(_ count: Int, record: Int) -> FeedInputError? {
            failure { () throws(FeedInputError) in
                _ = try FeedInput(
                    digestsFrom: [UInt8](repeating: 1, count: count),
                    encoding: .raw(record: record))
            }
        }
        #expect(error(32, record: 16) == nil)
        #expect(error(33, record: 16) == .rawLength(bytes: 33, record: 16))
        #expect(error(32, record: 32) == .length(line: 1, bytes: 32, allowed: 16...16))
        #expect(error(0, record: 16) == .empty)
    }

    @Test("repetitions are dropped; the same secret with two notes is an error on its line")
    func repetitions() throws {
        let lines = [1, 2, 1].map { text(Sample.secret($0)) }.joined(separator: "\n")
        #expect(try secrets(lines).count == 2)
        #expect(try secrets(lines, notes: "a\nb\na\n").map(\.note) == [[97], [98]])
        #expect(secretError(lines, notes: "a\nb\nc\n") == .conflictingNote(line: 3))
        #expect(try secrets(lines, notes: "for all").allSatisfy { $0.note?.count == 7 })
        #expect(secretError(lines, notes: "a\nb\n") == .noteCount(notes: 2, items: 3))
        let digest = "00112233445566778899aabbccddeeff\n"
        let twice = try FeedInput(digestsFrom: Array((digest + digest).utf8))
        #expect(twice.count == 1)
    }

    @Test("a key file is read by its owner alone and holds one line")
    func keyFile() throws {
        let feed = try TemporaryFeed(creating: false)
        let path = feed.path + "/feed.key"
        func error() -> FeedDirectoryError? {
            failure { () throws(FeedDirectoryError) in _ = try FeedKeyFile.load(path) }
        }
        #expect(error() == .keyFile(.file(FileError(.open, 2))))
        let key = try FeedKeyFile.create(path)
        #expect(try FileStatus(of: path).mode == 0o600 && FileStatus(of: path).size == 44)
        #expect(try FeedKeyFile.load(path).verifyingKey == key.verifyingKey)
        let again = failure { () throws(FeedDirectoryError) in _ = try FeedKeyFile.create(path) }
        #expect(again == .file(FileError(.open, 17)), "never overwritten")
        let line = try Files.read(path, limit: 100)
        for mode in [0o640, 0o604, 0o644, 0o660] as [UInt32] {
            try Files.replace(path, with: line.span, mode: mode)
            #expect(error() == .keyFile(.notPrivate(mode: mode)))
        }
        for text in ["", "\n", "short\n", String(repeating: "A", count: 44)] {
            try Files.replace(path, with: Array(text.utf8).span)
            #expect(error() == .keyFileMalformed)
        }
        let cut = Array(line.dropLast())
        try Files.replace(path, with: cut.span)
        #expect(error() == nil, "without its line's end")
    }

    @Test("a feed is made once; an attempt that got only to the key is finished with that key")
    func initFeed() throws {
        let feed = try TemporaryFeed(creating: false)
        let keyFile = feed.path + "/feed.key"
        let key = try FeedKeyFile.create(keyFile)
        let made = try FeedDirectory.initFeed(
            feed.directory, keyFile: keyFile, now: TemporaryFeed.now)
        #expect(made == FeedKey(key.verifyingKey))
        let head = try FeedDirectory(feed.directory).head(made)
        #expect(head.sequence == 0 && head.firstSequence == 1 && head.count == 0)
        #expect(try FileStatus(of: feed.directory + "/head").mode == 0o644)
        let again = failure { () throws(FeedDirectoryError) in
            _ = try FeedDirectory.initFeed(
                feed.directory, keyFile: feed.path + "/other", now: TemporaryFeed.now)
        }
        #expect(again == .exists && !Files.exists(feed.path + "/other"))
    }

    @Test("a journal is read back as written, and anything else is refused")
    func journal() throws {
        func read(_ bytes: [UInt8]) -> FeedJournal? { try? FeedJournal(stateFile: bytes) }
        var journal = FeedJournal()
        #expect(read(journal.stateFile()) == journal)
        for number in 0..<500 {
            let hash = HeaderHash(Sample.secret(number).span)
            journal.append(
                .init(
                    input: hash, batches: UInt64(number)...UInt64(number + 2), headerHash: hash,
                    isIntent: number == 499))
        }
        #expect(journal.entries.count == FeedJournal.capacity)
        let bytes = journal.stateFile()
        #expect(bytes.count < FeedJournal.byteLimit && read(bytes) == journal)
        for length in 0..<1000 {
            #expect(read(Array(bytes[..<length])) == nil, "length \(length)")
        }
        // An intent counts if the head is exactly the intended one.
        let feed = try TemporaryFeed()
        _ = try feed.publisher().publish(try Sample.input([2]), now: TemporaryFeed.now)
        let head = try feed.verifiedHead().head
        for (hash, isKept) in [(head.headerHash, true), (HeaderHash.none, false)] {
            var intent = FeedJournal()
            intent.append(
                .init(input: .none, batches: 1...1, headerHash: hash, isIntent: true))
            let first = intent.resolve(with: head)
            let second = intent.resolve(with: head)
            #expect(first && !second, "resolved once")
            #expect((intent.batches(of: .none) == 1...1) == isKept)
        }
        try Files.replace(feed.directory + "/.journal", with: Array("?".utf8).span)
        let input = try Sample.input([1])
        let error = failure { () throws(FeedDirectoryError) in
            _ = try feed.publisher().publish(input, now: TemporaryFeed.now)
        }
        #expect(error == .journal)
    }
}
