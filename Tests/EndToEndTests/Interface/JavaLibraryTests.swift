import Foundation
import TestSupport
import Testing
import WakeModel

@Suite(
    "The library for Android as it is built and used",
    .enabled(if: JavaProgram.isInstalled, "no javac (Debian: default-jdk-headless)"),
    .timeLimit(.minutes(5)))
struct JavaLibraryTests {
    /// A key, a message and a signature of it, or what is none.
    private struct Signed {
        var key: [UInt8]
        var message: [UInt8]
        var signature: [UInt8]

        var line: String {
            [key, message, signature].map { String(decoding: Hex.encode($0.span), as: UTF8.self) }
                .joined(separator: " ")
        }
    }

    /// Encodings of points of small order, with and without the sign, and of y above p.
    private static let oddPoints: [[UInt8]] = {
        let hex = [
            String(repeating: "00", count: 32), "01" + String(repeating: "00", count: 31),
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
            "ec" + String(repeating: "ff", count: 30) + "7f",
            "ed" + String(repeating: "ff", count: 30) + "7f",
            "ee" + String(repeating: "ff", count: 30) + "7f",
            String(repeating: "ff", count: 31) + "7f", String(repeating: "ff", count: 32),
        ]
        let points = hex.map { Hex.decode(Array($0.utf8).span) ?? [] }
        return points + points.map { $0.dropLast() + [$0[31] ^ 0x80] }
    }()

    /// The order of the base point, added to a number of 32 bytes.
    private static func addingOrder(_ number: ArraySlice<UInt8>) -> [UInt8] {
        let order: [UInt8] =
            [0xED, 0xD3, 0xF5, 0x5C, 0x1A, 0x63, 0x12, 0x58, 0xD6, 0x9C, 0xF7, 0xA2, 0xDE, 0xF9]
            + [0xDE, 0x14] + [UInt8](repeating: 0, count: 15) + [0x10]
        var carry = 0
        return zip(number, order).map { digit, more in
            carry += Int(digit) + Int(more)
            defer { carry >>= 8 }
            return UInt8(carry & 255)
        }
    }

    @Test("a signature verifies where libsodium verifies it, and a key is one where it is one")
    func signatures() async throws {
        var random = SplitMix64(seed: 25_519)
        func bytes(_ count: Int) -> [UInt8] {
            (0..<count).map { _ in .random(in: 0...255, using: &random) }
        }
        var all: [Signed] = []
        for length in 0..<100 {
            let key = SigningKey(seed: bytes(32).span)
            let message = bytes(length)
            let good = Signed(
                key: key.verifyingKey.bytes, message: message, signature: key.sign(message.span))
            all.append(good)
            var (flipped, foreign, longer, point) = (good, good, good, good)
            flipped.signature[Int.random(in: 0..<64, using: &random)] ^=
                1 << UInt8.random(in: 0..<8, using: &random)
            foreign.key = bytes(32)
            longer.signature = good.signature[..<32] + Self.addingOrder(good.signature[32...])
            let odd = Self.oddPoints[length % Self.oddPoints.count]
            if length % 2 == 0 {
                point.key = odd
            } else {
                point.signature = odd + good.signature[32...]
            }
            // s = 0: what begins with a point of small order would be signed by any such key.
            let empty = Signed(
                key: odd, message: message,
                signature: Self.oddPoints[length / 2 % Self.oddPoints.count]
                    + [UInt8](repeating: 0, count: 32))
            all += [flipped, foreign, longer, point, empty]
        }
        let program = try await JavaProgram(drivenBy: "ClientCycles")
        let app = try program.start(
            ["signatures"], input: Array(all.map { $0.line + "\n" }.joined().utf8))
        #expect(await app.exit() == 0)
        let said = app.output.split(separator: "\n")
        for (signed, line) in zip(all, said) {
            // libsodium's own check of the key comes before any signature of it here.
            let key = VerifyingKey(signed.key)
            let isSigned = key?.verifies(signed.signature.span, of: signed.message.span) ?? false
            #expect(line.hasSuffix(" \(key != nil)"), "\(signed)")
            #expect(key == nil || line.hasPrefix("\(isSigned) "), "\(signed)")
        }
        #expect(said.count == all.count + 1, "\(app.output.suffix(200))")
    }

    @Test("Deploy/java makes the same bytes anywhere, of the version that everything has")
    func build() async throws {
        let directory = try TemporaryDirectory()
        for (place, words) in [("a", ["TZ=UTC"]), ("b", ["TZ=Asia/Tokyo", "LC_ALL=tr_TR.UTF-8"])] {
            let made = try await RunningProgram.run(
                path: "/usr/bin/env",
                words + [Repository.absolute("Deploy/java"), directory.path + "/" + place])
            #expect(made.status == 0, "\(made.output)")
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path + "/a")
        let start = "reveille-java-" + Release.version
        #expect(names.sorted() == ["-sources.jar", ".jar", ".pom"].map { start + $0 })
        for name in names {
            let files = ["a", "b"].map { "\(directory.path)/\($0)/\(name)" }
            #expect(FileManager.default.contentsEqual(atPath: files[0], andPath: files[1]))
        }
        let jar = directory.path + "/a/\(start).jar"
        try await useInApp(jar, in: directory.path)
        try await watch(with: jar, in: directory.path)
    }

    /// Runs the shortest program, as its comment says it.
    private func watch(with jar: String, in directory: String) async throws {
        let site = try await FeedSite()
        let secret = "a secret of this device, the first"
        try await site.publish(secret.utf8.map { String(format: "%02x", $0) }.joined())
        try await JavaProgram.compile(
            [Repository.absolute("Tests/Examples/Java/Watch.java")], into: directory + "/watch",
            with: jar)
        let words = ["https://wake.example.org", site.url, site.key, directory + "/state", secret]
        for expected in ["this concerns you: the first\n", ""] {
            let program = try RunningProgram(
                path: InstalledPrograms.path("java") ?? "java",
                ["-cp", "\(jar):\(directory)/watch", "Watch"] + words + ["once"])
            #expect(await program.exit() == 0 && program.output == expected, "\(program.output)")
        }
    }

    /// Compiles the app of Tests/Examples with the jar and stand-ins for what Android has.
    private func useInApp(_ jar: String, in directory: String) async throws {
        let text = try Repository.text("Tests/LibraryUse/android-stand-ins.java")
        var files: [String] = []
        for part in text.components(separatedBy: "// file ").dropFirst() {
            let name = String(part.prefix { $0 != "\n" })
            let file = URL(filePath: directory + "/stand-ins/" + name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(part.dropFirst(name.count).utf8).write(to: file)
            files.append(file.path)
        }
        try await JavaProgram.compile(files, into: directory + "/android")
        let app = try Repository.paths(in: "Tests/Examples/Android/app", ending: ".java")
        #expect(app.count > 3)
        try await JavaProgram.compile(
            app.map(Repository.absolute), into: directory + "/app",
            with: jar + ":" + directory + "/android")
    }

    @Test("it needs nothing that Android 5 has not")
    func oldAndroid() async throws {
        let directory = try TemporaryDirectory()
        let sources = try Repository.paths(in: "Sources/reveille-java", ending: ".java")
        try await JavaProgram.compile(sources.map(Repository.absolute), into: directory.path)
        let classes = try FileManager.default.subpathsOfDirectory(atPath: directory.path)
            .filter { $0.hasSuffix(".class") }
        let shown = try await RunningProgram.run(
            path: InstalledPrograms.path("javap") ?? "javap",
            ["-c", "-p"] + classes.map { directory.path + "/" + $0 })
        #expect(shown.status == 0)
        // Of API levels 24 and later; lambda expressions, too, unless a build rewrites them.
        let later =
            #/
            java/(?:util/(?:function|stream|Base64|Optional)|time|nio/file|lang/invoke)
            |java/lang/(?:Long|Integer)\.(?:\w*[uU]nsigned\w*|hashCode:\(.\))
            |java/lang/String\.join|java/lang/Math\.(?:floor|\w*Exact)
            |Map\.(?:getOrDefault|computeIfAbsent|merge|putIfAbsent|forEach)
            |\.(?:removeIf|longValueExact|intValueExact)
            /#
        let found = shown.output.split(separator: "\n").filter { $0.contains(later) }
        #expect(found.isEmpty, "\(found)")
    }
}
