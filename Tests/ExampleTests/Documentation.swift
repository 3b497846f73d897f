import Foundation
import TestSupport

/// The documentation as DocC makes it of a module that the tests were built with.
struct Documentation {
    /// Those that apps depend on.
    static let modules = ["Reveille", "ReveilleTesting", "WakeUnifiedPush", "WakeFeed"]
    static let article = catalog(of: "Reveille")

    static func catalog(of module: String) -> String { "Sources/\(module)/\(module).docc" }

    /// The parts of Swift's own tool chain that it takes; nil where they are not installed.
    static let tools: (extract: String, convert: String)? = {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
            .map(String.init)
        let beside = folders.map { $0 + "/swift" }.filter(isProgram).map {
            URL(filePath: $0).resolvingSymlinksInPath().deletingLastPathComponent().path
        }
        for folder in folders + beside {
            let (extract, convert) = (folder + "/swift-symbolgraph-extract", folder + "/docc")
            if isProgram(extract), isProgram(convert) { return (extract, convert) }
        }
        return nil
    }()

    private static func isProgram(_ path: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: path)
    }

    private let module: String
    private let directory: TemporaryDirectory
    private let convert: String
    /// Public symbols without a comment, such as `ClientError.tls`.
    let undocumented: [String]
    /// Public symbols: their paths, such as `["ClientError", "tls"]`, and kinds.
    let symbols: [(path: [String], kind: String)]

    init(of module: String = "Reveille") async throws {
        self.module = module
        guard let tools = Self.tools else { throw TestFailure("no tool chain") }
        directory = try TemporaryDirectory()
        convert = tools.convert
        let graphs = directory.path + "/graphs"
        try FileManager.default.createDirectory(
            atPath: graphs, withIntermediateDirectories: false)
        let modules = RunningProgram.folder.appending(path: "Modules").path
        let maps = try ["CSodium", "CSQLite", "CRuntime", "CLinux"].flatMap { name in
            try Repository.paths(in: "Sources/\(name)", ending: "module.modulemap")
        }
        #if arch(arm64)
            let target = "aarch64-unknown-linux-gnu"
        #else
            let target = "x86_64-unknown-linux-gnu"
        #endif
        let extracted = try await RunningProgram.run(
            path: tools.extract,
            [
                "-module-name", module, "-I", modules, "-minimum-access-level", "public",
                "-skip-synthesized-members", "-target", target, "-output-dir", graphs,
            ]
                + maps.flatMap { path in
                    ["-Xcc", "-fmodule-map-file=\(Repository.absolute(path))"]
                })
        guard extracted.status == 0 else { throw TestFailure(extracted.output) }
        let data = try Data(contentsOf: URL(filePath: graphs + "/\(module).symbols.json"))
        let found = try JSONDecoder().decode(Graph.self, from: data).symbols
        symbols = found.map { ($0.pathComponents, $0.kind.identifier) }
        undocumented = found.filter { $0.docComment == nil }.map {
            $0.pathComponents.joined(separator: ".")
        }
    }

    /// Converts the catalog.
    /// - Parameter change: makes another text of an article.
    /// - Returns: whether everything in it is as it should be, and what was found.
    func converted(
        changing change: (String) -> String = { $0 }
    ) async throws -> (isSound: Bool, output: String) {
        let catalog = directory.path + "/\(module).docc"
        try? FileManager.default.removeItem(atPath: catalog)
        try FileManager.default.createDirectory(
            atPath: catalog, withIntermediateDirectories: false)
        for path in try Repository.paths(in: Self.catalog(of: module), ending: ".md") {
            let name = URL(filePath: path).lastPathComponent
            try change(try Repository.text(path)).write(
                toFile: catalog + "/" + name, atomically: true, encoding: .utf8)
        }
        let made = try await RunningProgram.run(
            path: convert,
            [
                "convert", catalog, "--additional-symbol-graph-dir", directory.path + "/graphs",
                "--output-path", directory.path + "/archive", "--warnings-as-errors",
                "--fallback-display-name", module, "--fallback-bundle-identifier",
                "reveille.\(module)",
            ])
        return (made.status == 0, made.output)
    }
}

/// The part of a symbol graph that matters here.
private struct Graph: Decodable {
    struct Symbol: Decodable {
        struct Kind: Decodable {
            let identifier: String
        }

        struct Comment: Decodable {}

        let pathComponents: [String]
        let kind: Kind
        let docComment: Comment?
    }

    let symbols: [Symbol]
}
