/// The house rules that a machine can check. Each returns what it found, worded for a reader.
enum TidyRules {
    /// Modules for which Foundation is worth its weight. The compiler refuses imports that
    /// Package.swift does not declare.
    static let foundation: Set<String> = [
        "Reveille", "ReveillePhone", "ReveilleTesting", "WakeServer", "reveille-service",
        "reveille-client",
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

    /// Modules that also apps for iOS 15 and macOS 12 link, and all that they may import.
    static let portable: Set<String> = ["WakeBytes", "WakeCrypto", "WakeFeed"]
    static let portableImports = portable.union(["CCrypto"])

    /// What the systems of those apps do not have, in parts, so that this file has none of it.
    static let newerThanPhones = [
        "Inline" + "Array", "Mu" + "tex", "Ato" + "mic", "Dura" + "tion", "Clo" + "ck",
        "Reg" + "ex", "Int" + "128", "String(vali" + "dating", "CollectionOf" + "One",
        ".utf8.sp" + "an",
    ]

    /// What would not compile for iOS 15. Arrays have a `span` there where WakeBytes is imported.
    static func unportable(in tree: SourceTree) -> [String] {
        tree.files.filter { $0.path.hasPrefix("Sources/") && $0.path.hasSuffix(".swift") }
            .flatMap { file -> [String] in
                let module = String(file.path.split(separator: "/")[1])
                guard portable.contains(module) || module == "ReveillePhone" else { return [] }
                let code = file.lines.map { String($0.prefix { $0 != "/" }) }
                let imports = code.map { line in
                    let words = line.split(separator: " ")
                    return words.firstIndex(of: "import").map { String(words[$0 + 1]) }
                }
                let hasSpans = module == "WakeBytes" || imports.contains("WakeBytes")
                return code.indices.filter { index in
                    let isForeign = imports[index].map { !portableImports.contains($0) } ?? false
                    let isNewer = newerThanPhones.contains(where: code[index].contains)
                    return portable.contains(module) && (isForeign || isNewer)
                        || !hasSpans && code[index].contains(".sp" + "an")
                }.map { "\(file.path):\($0 + 1): \(code[$0])" }
            }
    }

    static func foundationImports(in tree: SourceTree) -> [String] {
        tree.files.filter { file in
            let parts = file.path.split(separator: "/").map(String.init)
            return parts.count > 2 && parts[0] == "Sources" && file.path.hasSuffix(".swift")
                && !foundation.contains(parts[1])
                && file.lines.contains { line in
                    line.contains("import Foundation") && !line.hasPrefix(" ")
                }
        }.map { "\($0.path): imports Foundation" }
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
}
