import Foundation
import TestSupport
import Testing
import WakeSystem

/// An installation as `init` makes it, which a test spoils; its listener takes any free port.
struct Installation {
    let directory: TemporaryDirectory
    var root: String { directory.path + "/service" }
    var file: String { root + "/reveille.conf" }

    init() async throws {
        directory = try TemporaryDirectory()
        #expect(try await RunningProgram.run("reveille", ["init", root]).status == 0)
        try replace("127.0.0.1:8080", by: "127.0.0.1:0")
    }

    func text() throws -> String { try String(contentsOfFile: file, encoding: .utf8) }

    func replace(_ words: String, by others: String) throws {
        let text = try text()
        let range = try #require(text.firstRange(of: words), "\(words)")
        try write(text.replacingCharacters(in: range, with: others))
    }

    func append(_ section: String) throws { try write(text() + "\n" + section + "\n") }

    func write(_ text: String) throws { try write(Array(text.utf8), to: "reveille.conf") }

    /// In place: the file keeps its mode.
    func write(_ bytes: [UInt8], to name: String) throws {
        let path = root + "/" + name
        if !Files.exists(path) { try Files.create(path, with: [UInt8]().span) }
        let file = try OpenFile(path, flags: O_WRONLY | O_TRUNC)
        try file.write(bytes.span, at: 0)
    }

    func chmod(_ mode: mode_t, _ name: String) throws {
        guard unsafe Glibc.chmod(root + "/" + name, mode) == 0 else { throw TestFailure(name) }
    }

    func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: root + "/" + name)
    }

    func pipe(_ name: String) throws {
        try? remove(name)
        guard unsafe mkfifo(root + "/" + name, 0o600) == 0 else { throw TestFailure(name) }
    }

    func link(_ name: String, to target: String) throws {
        try? remove(name)
        guard unsafe symlink(target, root + "/" + name) == 0 else { throw TestFailure(name) }
    }

    func run(_ word: String) async throws -> (status: Int32, output: String) {
        try await RunningProgram.run("reveille", [word, "--config", file])
    }

    /// Every file with its status, which an examination must not change.
    func listing() throws -> [String] {
        let names = try #require(FileManager.default.subpaths(atPath: root)).sorted()
        return try names.map { name in
            let status = try FileStatus(of: root + "/" + name)
            return "\(name) \(status.mode) \(status.size) \(status.identity)"
        }
    }
}

/// The same program twice: what `check` says of a configuration is what `serve` does with it.
@Suite("Wrong configurations, to check and to serve", .timeLimit(.minutes(10)))
struct WrongConfigurationTests {
    struct Wrong: Sendable {
        let words: String
        let status: Int32
        let spoil: @Sendable (Installation) throws -> Void

        init(
            _ words: String, _ status: Int32 = 78,
            _ spoil: @escaping @Sendable (Installation) throws -> Void
        ) {
            (self.words, self.status, self.spoil) = (words, status, spoil)
        }
    }

    /// Of the file as a whole.
    static let files: [Wrong] = [
        Wrong("nothing is set in it") { try $0.write("") },
        Wrong("nothing is set in it") { try $0.write("\n  \n# a\n; b\n[http]\n") },
        Wrong("nothing is set in it") {
            try $0.write([UInt8](repeating: 0, count: 4096), to: conf)
        },
        Wrong("line 2: a NUL byte") { try $0.write("[log]\nlevel = in\0fo\n") },
        Wrong("longer than 65536 bytes") {
            try $0.append(String(repeating: "# \n", count: 1 << 18))
        },
        Wrong("not UTF-8") { try $0.write([0xFF, 0xFE, 0x5B, 0x00], to: conf) },
        Wrong("not a regular file") { try $0.pipe(conf) },
        Wrong("its links lead back") { try $0.link(conf, to: conf) },
        Wrong("`reveille init DIR`") { try $0.remove(conf) },
        Wrong("others can change it") { try $0.chmod(0o666, conf) },
        Wrong("other users can replace it") { try $0.chmod(0o777, ".") },
    ]

    /// Of one line.
    static let lines: [Wrong] = [
        ("[log]\nlevl = info", "did you mean level?"),
        ("[admim]\nlisten = x", "did you mean [admin]?"),
        ("[log", "a section must end with ]"), ("[log]\nlevel", "expected key = value"),
        ("[log]\nlevel = info", "level is set twice"),
        ("[store]\nmegabytes = 1e3", "a whole number from 1"),
        ("[store]\nrotation-days = 0", "a whole number"),
        ("[http]\nproxy-protocol = v2", "on or off"),
        ("[http]\norigins = http://", "origins takes"),
        ("[http]\nconnections = 1000000", "LimitNOFILE="),
        ("[feed]\npoll-seconds = 5", "a whole number from 900"),
        ("[broadcast]\nwatch = ftp://feed.invalid/", "watch takes"),
        ("[broadcast]\nwatch = https://feed.invalid/", "watch-key is not a feed's public key"),
        ("[broadcast]\nwatch-key = anything", "watch-key takes a feed's public key"),
        ("[apns]\nkey = k.p8", "[apns] lacks"),
        ("[fcm]\nkey = none.json", "[fcm] key: cannot read"),
        ("[fcm]\nvia = https://wake.invalid", "[fcm] lacks via-key"),
        ("[fcm]\nvia = https://wake.invalid\nvia-key = keys/vapid.key", "holds no key for a relay"),
        ("[oblivious]\nkey = keys/feed.key", "[oblivious] key: the file holds no key of a gateway"),
        (
            "[oblivious]\nkey = keys/vapid.key",
            "[oblivious] key: the file holds no key of a gateway"
        ),
        ("[oblivious]\nformer-key = keys/feed.key", "[oblivious] former-key: needs a key"),
        ("[metrics]\nlisten = 10.0.0.1:9464", "listen takes unix:PATH"),
        (
            "[metrics]\nlisten = unix:admin.sock",
            "[metrics] listen is the address of [admin] listen"
        ),
        ("[page]\noperator =", "operator takes a name"),
        ("[cluster]\npeers = unix:/" + String(repeating: "a", count: 107), "107 bytes at most"),
    ].map { line, words in Wrong(words) { try $0.append(line) } }

    /// Of a line that is there in another form.
    static let values: [Wrong] = [
        ("listen = 127.0.0.1:0", "listen = \"127.0.0.1:0\"", "without quotes", 78),
        ("listen = 127.0.0.1:0", "listen = unix:admin.sock", "[admin] listen is the address", 78),
        ("listen = 127.0.0.1:0", "listen = 203.0.113.7:80", "this machine has no such address", 1),
        ("unix:admin.sock", "127.0.0.1:0", "listen on TCP needs a token", 78),
        (
            "unix:admin.sock", "127.0.0.1:0\ntoken = keys/feed.none", "[admin] token: cannot read",
            78
        ),
        ("unix:admin.sock", "127.0.0.1:0\ntoken = keys/vapid.key", "the file holds no token", 78),
        ("unix:admin.sock", "unix:" + String(repeating: "a", count: 110), "107 bytes at most", 78),
        ("unix:admin.sock", "unix:none/admin.sock", "the socket's directory is missing", 1),
        ("unix:admin.sock", "unix:reveille.conf/a", "a part of the path is no directory", 1),
        ("unix:admin.sock", "unix:keys/feed.key", "a file that is no socket has this path", 1),
        ("keys = keys/registration.key", "keys = keys/feed.key", "damaged or no key file", 78),
        ("keys = keys/registration.key", "keys = none", "bring it back", 1),
        ("keys/vapid.key", "none.key", "[webpush] key: cannot read", 78),
        ("keys/vapid.key", "keys/feed.key", "holds no readable private key", 78),
        ("keys/vapid.key", "keys/vapid.key\nca = none.pem", "certificate: No such file", 78),
        ("keys/vapid.key", "keys/vapid.key\nca = reveille.conf", "holds no certificate", 78),
        ("keys/vapid.key", "keys/vapid.key\nsubject = me", "[webpush] subject has no proper", 78),
    ].map { words, others, told, status in
        Wrong(told, status) { try $0.replace(words, by: others) }
    }

    /// Of what the file names.
    static let named: [Wrong] = [
        Wrong("empty, or zeros") { try $0.write([], to: database) },
        Wrong("empty, or zeros") {
            try $0.write([UInt8](repeating: 0, count: 16_384), to: database)
        },
        Wrong("not a store of this program") {
            try $0.write([UInt8](repeating: 65, count: 200), to: database)
        },
        Wrong("is a symbolic link") {
            try FileManager.default.moveItem(
                atPath: $0.root + "/" + database, toPath: $0.root + "/db")
            try $0.link(database, to: "../db")
        },
        Wrong("chmod 600") { try $0.chmod(0o644, database) },
        Wrong("chmod 700") { try $0.chmod(0o755, "data") },
        Wrong("is missing", 1) { try $0.remove("data") },
        Wrong("is no plain file") { try $0.pipe("data/reserve") },
        Wrong("damaged or no key file") { try $0.write([], to: key) },
        Wrong("chmod 600") { try $0.chmod(0o644, key) },
        Wrong("not a regular one") { try $0.pipe(key) },
        Wrong("chmod 600") { try $0.chmod(0o604, "keys/vapid.key") },
        Wrong("not a regular one") { try $0.pipe("keys/vapid.key") },
        Wrong("Too many levels of symbolic links") {
            try $0.link("keys/vapid.key", to: "vapid.key")
        },
        Wrong("lies in the data directory") {
            try FileManager.default.copyItem(
                atPath: $0.root + "/" + key, toPath: $0.root + "/data/k")
            try $0.replace("keys = " + key, by: "keys = data/k")
        },
        Wrong("a file that is no socket", 1) { try $0.write([1], to: "admin.sock") },
    ]

    private static let conf = "reveille.conf"
    private static let database = "data/generation-1.db"
    private static let key = "keys/registration.key"
    static let wrongs = files + lines + values + named

    @Test(
        "have one exit status and one cause, and check changes nothing", arguments: wrongs.indices)
    func agree(_ index: Int) async throws {
        let wrong = Self.wrongs[index]
        let installation = try await Installation()
        try wrong.spoil(installation)
        let before = try installation.listing()
        let check = try await installation.run("check")
        #expect(try installation.listing() == before)
        let serve = try await installation.run("serve")
        #expect(check.status == wrong.status && serve.status == wrong.status, "\(check) \(serve)")
        #expect(check.output.contains(wrong.words), "\(check.output)")
        #expect(serve.output.contains(wrong.words), "\(serve.output)")
        let cause = serve.output.split(separator: "\n").first?.trimmingPrefix("reveille: ") ?? ""
        #expect(check.output.contains(cause), "\(check.output)\n\(serve.output)")
    }

    /// Of a service that starts: what check says all the same.
    static let warnings: [Wrong] = [
        Wrong("public key", 0) { _ in },
        Wrong("the head is not one that the feed key signed", 0) {
            try $0.write([1], to: "feed/head")
        },
        Wrong("no head: `reveille feed init`", 0) { try $0.remove("feed") },
        Wrong("bring it back from your copy", 0) { try $0.remove("keys/feed.key") },
        Wrong("chmod 600", 0) { try $0.chmod(0o644, "keys/feed.key") },
        Wrong(".log of the feed's directory is damaged; remove it", 0) {
            try $0.write([1], to: "feed/.log")
        },
        Wrong("watch-key is of no use without", 0) {
            let key = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
            try $0.append("[broadcast]\nwatch-key = " + key)
        },
        Wrong("operator Example, contact not said", 0) {
            try $0.append("; old\n[page]\noperator = Example")
        },
        Wrong("origins         https://app.invalid", 0) {
            try $0.append("[http]\norigins = https://app.invalid")
        },
        Wrong("no push service is on", 0) { try $0.replace("key = keys/vapid.key", by: "") },
        Wrong("a start takes that away", 0) {
            for name in ["data", "keys"] { try $0.chmod(0o2770, name) }
            for name in [database, key, "keys/vapid.key", "keys/feed.key", conf] {
                try $0.chmod(0o660, name)
            }
        },
        Wrong("public key", 0) {
            // The secrets of an orchestrator: a link to a link.
            try Files.makeDirectory($0.root + "/keys/..2026_11_28")
            try Files.rename(
                $0.root + "/keys/vapid.key", to: $0.root + "/keys/..2026_11_28/vapid.key")
            try $0.link("keys/..data", to: "..2026_11_28")
            try $0.link("keys/vapid.key", to: "..data/vapid.key")
        },
    ]

    @Test("that a service starts with are warnings", arguments: warnings.indices)
    func starts(_ index: Int) async throws {
        let warning = Self.warnings[index]
        let installation = try await Installation()
        try warning.spoil(installation)
        let before = try installation.listing()
        let check = try await installation.run("check")
        #expect(try installation.listing() == before)
        #expect(check.status == 0 && check.output.contains(warning.words), "\(check.output)")
        let service = try RunningProgram("reveille", ["serve", "--config", installation.file])
        _ = try await service.line(containing: "started port=")
        let beside = try await installation.run("check")
        #expect(beside.status == 0, "\(beside.output)")
        #expect(beside.output.contains("open in a running service"), "\(beside.output)")
        service.signal(SIGTERM)
        #expect(await service.exit() == 0, "\(service.output)")
        for name in ["data", Self.database, Self.key, "keys/vapid.key"] {
            let path = try Files.resolve(installation.root + "/" + name)
            #expect(try FileStatus(of: path).mode & 0o077 == 0, "\(name)")
        }
    }
}
