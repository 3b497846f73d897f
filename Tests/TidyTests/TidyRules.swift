/// The house rules that a machine can check. Each returns what it found, worded for a reader.
enum TidyRules {
    /// Which of our modules each module may import. Arrows go one way; see README.md.
    static let imports: [String: Set<String>] = [
        "WakeModel": ["WakeSystem", "CLinux"],
        "WakeSodium": ["CSodium", "WakeSystem", "WakeModel"],
        "WakeSQLite": ["CSQLite", "WakeSystem"],
        "WakeSystem": ["CLinux"],
        "WakeCommand": ["WakeSystem", "WakeModel", "CLinux"],
        "WakeHTTP": ["WakeModel", "WakeSodium", "WakeSystem", "CLinux"],
        "WakeStore": ["WakeModel", "WakeSodium", "WakeSQLite", "WakeSystem"],
        "WakeFetch": ["WakeSystem", "CRuntime"],
        "WakeFeed": ["WakeModel", "WakeSodium", "WakeSystem"],
        "WakeOblivious": ["WakeModel", "WakeSodium", "WakeSystem", "CRuntime"],
        "WakeAudit": ["WakeModel", "WakeSodium", "WakeSQLite", "WakeSystem"],
        "WakePush": [
            "WakeModel", "WakeFetch", "WakeSodium", "WakeSystem", "CRuntime", "CLinux",
        ],
        "WakeRelay": [
            "WakePush", "WakeHTTP", "WakeFetch", "WakeModel", "WakeSodium", "WakeSystem",
        ],
        "WakeWitness": ["WakeFeed", "WakeHTTP", "WakeModel", "WakeSodium", "WakeSystem"],
        "WakeServer": [
            "WakeModel", "WakeHTTP", "WakeStore", "WakePush", "WakeRelay", "WakeFetch", "WakeFeed",
            "WakeOblivious", "WakeSodium", "WakeSystem", "CLinux",
        ],
        "ReveilleHandlers": [],
        "ReveilleTesting": [
            "Reveille", "WakeFeed", "WakeFetch", "WakeModel", "WakeSodium", "WakeSystem",
        ],
        "Reveille": [
            "ReveilleHandlers", "WakeModel", "WakeFeed", "WakeFetch", "WakeOblivious", "WakeSodium",
            "WakeSQLite", "WakeSystem",
        ],
        "WakeUnifiedPush": ["Reveille", "WakeModel", "WakeSystem", "CLinux"],
        "WakeClientC": [
            "CReveille", "Reveille", "WakeUnifiedPush", "WakeFeed", "WakeModel", "WakeSystem",
            "CLinux",
        ],
        "reveille-service": [
            "WakeServer", "WakeRelay", "WakeHTTP", "WakeStore", "WakeFeed", "WakeFetch",
            "WakeAudit", "WakeOblivious", "WakeWitness", "WakeCommand", "WakeModel", "WakeSodium",
            "WakeSystem",
            "CLinux",
        ],
        "reveille-client": [
            "Reveille", "WakeFeed", "WakeCommand", "WakeModel", "WakeSystem", "WakeUnifiedPush",
        ],
    ]

    /// Modules of the system that anybody may import, and Foundation where it earns its weight.
    static let system: Set<String> = ["Glibc", "Synchronization", "Dispatch"]
    static let foundation: Set<String> = [
        "Reveille", "ReveilleTesting", "WakeServer", "reveille-service", "reveille-client",
    ]

    static let lineLimit = 400
    static let columnLimit = 100

    /// Words that hide a fault from the compiler, or work from the reader.
    static let forbidden = [
        "@unchecked " + "Sendable", "nonisolated" + "(unsafe)", "try" + "!", "as" + "! ",
        "fatal" + "Error(", "TO" + "DO", "FIX" + "ME", "Task." + "detached",
        "Dispatch" + "Semaphore", "Thread." + "sleep", "@preconcurrency " + "import",
        // A thread that waits in stdio keeps exit(3) from ending the program: InputLines.
        "read" + "Line(",
    ]

    /// In tests nothing sleeps: a test waits for what it waits for.
    static let forbiddenInTests = ["Thread." + "sleep", "Task." + "sleep", "us" + "leep("]

    static func upwardImports(in tree: SourceTree) -> [String] {
        tree.files.flatMap { file -> [String] in
            let parts = file.path.split(separator: "/").map(String.init)
            guard parts.count > 2, parts[0] == "Sources", file.path.hasSuffix(".swift") else {
                return []
            }
            guard let allowed = imports[parts[1]] else {
                return parts[1].hasPrefix("C") ? [] : ["\(file.path): no row in the import table"]
            }
            return file.lines.compactMap(importedModule).filter { module in
                !allowed.contains(module) && !system.contains(module)
                    && !(module.hasPrefix("Foundation") && foundation.contains(parts[1]))
            }.map { "\(file.path): imports \($0)" }
        }
    }

    static func longFiles(in tree: SourceTree) -> [String] {
        tree.files.filter { file in
            file.path.hasSuffix(".swift") || file.path.hasSuffix(".c") || file.path.hasSuffix(".h")
        }.compactMap { file in
            let count = file.lines.last == "" ? file.lines.count - 1 : file.lines.count
            return count > lineLimit ? "\(file.path): \(count) lines" : nil
        }
    }

    static func longLines(in tree: SourceTree) -> [String] {
        tree.files.filter { file in
            file.path.hasSuffix(".swift") || file.path.hasSuffix(".c") || file.path.hasSuffix(".h")
        }.flatMap { file in
            file.lines.enumerated().filter { $0.element.count > columnLimit }
                .map { "\(file.path):\($0.offset + 1): \($0.element.count) columns" }
        }
    }

    static func forbiddenWords(in tree: SourceTree) -> [String] {
        find(forbidden, in: tree) { $0.hasPrefix("Sources/") && $0.hasSuffix(".swift") }
            + find(forbiddenInTests, in: tree) {
                $0.hasPrefix("Tests/") && $0.hasSuffix(".swift")
            }
            + find([" pri" + "nt("], in: tree) {
                // An article shows what apps do.
                $0.hasPrefix("Sources/Wake") && $0.hasSuffix(".swift")
            }
    }

    /// The project never names a machine's own paths or a package of Swift.
    static func foreignWords(in tree: SourceTree) -> [String] {
        // Documents show what an app writes into its own manifest.
        find([".pack" + "age(url", ".pack" + "age(path"], in: tree) { !$0.hasSuffix(".md") }
            + find(["/ro" + "ot/", "/ho" + "me/"], in: tree) { _ in true }
    }

    static func unsafeOutsideTheList(in tree: SourceTree, listed: Set<String>) -> [String] {
        tree.files.filter { file in
            file.path.hasPrefix("Sources/") && file.path.hasSuffix(".swift")
                && !listed.contains(file.path)
                && file.lines.contains { isUnsafe($0) }
        }.map { "\($0.path): uses unsafe and is not on the list" }
    }

    private static func isUnsafe(_ line: String) -> Bool {
        let code = line.split(
            separator: "//", maxSplits: 1, omittingEmptySubsequences: false)[0]
        return code.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.contains("unsafe")
    }

    private static func find(
        _ words: [String], in tree: SourceTree, where applies: (String) -> Bool
    ) -> [String] {
        tree.files.filter { applies($0.path) }.flatMap { file in
            file.lines.enumerated().flatMap { number, line in
                words.filter { line.contains($0) }.map { "\(file.path):\(number + 1): \($0)" }
            }
        }
    }

    private static func importedModule(_ line: String) -> String? {
        let words = line.split(separator: " ").map(String.init)
        guard let position = words.firstIndex(of: "import"), position < 2,
            words.count > position + 1,
            words[..<position].allSatisfy({
                ["package", "public", "private", "internal", "fileprivate", "@testable"].contains(
                    $0)
            })
        else { return nil }
        return words[position + 1]
    }
}
