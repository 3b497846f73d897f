import Foundation
import TestSupport
import Testing

@Suite("Completions, by the shells themselves", .timeLimit(.minutes(5)))
struct CompletionTests {
    static let cases = ["reveille", "reveille-client"].flatMap { program in
        CompletingShell.installed.map { (program, $0) }
    }

    @Test("every command is offered, and after it every option", arguments: cases)
    func everything(_ program: String, _ shell: CompletingShell) async throws {
        let help = try await ProgramHelp(program)
        let firsts = Set(help.commands.map { String($0.name.prefix { $0 != " " }) })
        let groups = Dictionary(
            grouping: help.commands.filter { $0.name.contains(" ") },
            by: { String($0.name.prefix { $0 != " " }) })
        var lines = ["\(program) "]
        var expected = [firsts.sorted()]
        for (first, commands) in groups {
            lines.append("\(program) \(first) ")
            expected.append(commands.map { String($0.name.dropFirst(first.count + 1)) }.sorted())
        }
        for (name, options) in help.commands {
            lines.append("\(program) \(name) --")
            expected.append((options + ["--help"]).sorted())
        }
        lines.append("\(program) --")
        expected.append(["--help", "--version"])
        let offers = try await shell.offers(program, lines)
        for (line, pair) in zip(lines, zip(offers, expected)) {
            #expect(pair.0 == pair.1, "\(line)")
        }
        #expect(help.commands.count > 10)
    }

    @Test(
        "values are offered where they belong, and nothing where nothing is known",
        arguments: CompletingShell.installed)
    func values(_ shell: CompletingShell) async throws {
        let expected: [(String, [String])] = [
            ("init --channel ", ["poll", "stream"]), ("init --channel=", ["poll", "stream"]),
            ("init --channel s", ["stream"]), ("init --channel=s", ["stream"]),
            ("init --feed ", []), ("init --feed https://feed.example:8443/ --channel p", ["poll"]),
            ("init --feed https://feed.example/ --cha", ["--channel"]),
            ("register ", ["apns", "apns-sandbox", "fcm", "webpush"]),
            ("register --json apns", ["apns", "apns-sandbox"]), ("register apns ", []),
            ("register --file token w", ["webpush"]),
            ("register --profile x --json w", ["webpush"]),
            ("completions ", ["bash", "fish", "zsh"]), ("completions zsh ", []),
            ("sec", ["secrets"]), ("secrets ", ["add", "list", "remove"]),
            ("secrets r", ["remove"]),
            ("nonsense ", []), ("nonsense --", []), ("secrets nonsense ", []),
            ("secrets add --json list ", []),
        ]
        let offers = try await shell.offers(
            "reveille-client", expected.map { "reveille-client " + $0.0 })
        for (offer, pair) in zip(offers, expected) { #expect(offer == pair.1, "\(pair.0)") }
        let service = try await shell.offers(
            "reveille",
            ["keygen --kind ", "policy --format t", "relay allow a "]
                .map { "reveille " + $0 })
        #expect(service == [["admin", "ohttp", "relay", "vapid"], ["table"], []])
    }

    @Test("files and directories are left to the shell", arguments: CompletingShell.installed)
    func files(_ shell: CompletingShell) async throws {
        let lines = ["reveille-client register --file ", "reveille-client status --state "]
        guard shell.name == "fish" else {
            #expect(
                try await shell.offers("reveille-client", lines) == [
                    ["<files>"], ["<directories>"],
                ])
            return
        }
        // fish names them itself.
        let directory = try TemporaryDirectory()
        try "".write(toFile: directory.path + "/file", atomically: true, encoding: .utf8)
        try FileManager.default.createDirectory(
            atPath: directory.path + "/folder", withIntermediateDirectories: false)
        let path = directory.path
        let offers = try await shell.offers("reveille-client", lines.map { "\($0)\(path)/f" })
        #expect(offers == [["\(path)/file", "\(path)/folder/"], ["\(path)/folder/"]])
    }

    @Test("profiles and secrets are offered by name", arguments: CompletingShell.installed)
    func names(_ shell: CompletingShell) async throws {
        let site = try await FeedSite()
        let place = try TemporaryDirectory()
        let homes = ["XDG_STATE_HOME": place.path + "/s", "XDG_CACHE_HOME": place.path + "/c"]
        for name in ["default", "work-2", "home"] {
            let made = try await RunningProgram.run(
                "reveille-client",
                ["init", "--feed", site.url, "--key", site.key, "--profile", name],
                environment: homes)
            #expect(made.status == 0, "\(made.output)")
        }
        let added = try await RunningProgram.run(
            "reveille-client", ["secrets", "add", "visit"],
            input: Array(TestDevice().pushText.utf8),
            environment: homes)
        #expect(added.status == 0)
        let offers = try await shell.offers(
            "reveille-client",
            [
                "reveille-client status --profile ", "reveille-client run --profile=w",
                "reveille-client secrets remove ",
            ], environment: homes)
        #expect(offers == [["default", "home", "work-2"], ["work-2"], ["visit"]])
    }

    @Test("odd words break nothing and run nothing", arguments: CompletingShell.installed)
    func odd(_ shell: CompletingShell) async throws {
        let directory = try TemporaryDirectory()
        let trap = "$(touch \(directory.path)/trap)"
        let words = [
            trap, "`touch \(directory.path)/trap`", "*", "?", "[", "]", "\\", "'", "\"", "~", "~x",
            "{a,b}", ";", "&", "|", "<", "(", ")", "!", "!!", "#", "%s", "\\n", "-", "--", "---",
            "-x", "--x=", "--channel==", "=", ":", "::", "é", "ツ", "\u{7F}", "$", "${", "$x",
            "init|", "|init", "'init'",
        ]
        let beginnings = ["", "init ", "secrets ", "init --channel ", "register ", "status -- "]
        // `complete -C` of fish 4.0 panics at a line that ends with a backslash.
        let lines = words.flatMap { word in
            beginnings.flatMap { beginning -> [String] in
                let line = "reveille-client \(beginning)\(word)"
                return shell.name == "fish" && word == "\\" ? [line + " "] : [line, line + " "]
            }
        }
        let offers = try await shell.offers("reveille-client", lines)
        #expect(offers.count == lines.count)
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/trap"))
        // What a shell says of an error would be offered as a word. fish goes on by itself where
        // another command, a variable or a pattern begins.
        guard shell.name != "fish" else { return }
        let known = try await ProgramHelp("reveille-client")
        let all = Set(
            known.commands.flatMap { $0.options + $0.name.split(separator: " ").map(String.init) }
                + [
                    "--help", "--version", "stream", "poll", "apns", "apns-sandbox", "fcm",
                    "webpush",
                ]
        )
        #expect(Set(offers.joined()).subtracting(all).isEmpty)
    }
}
