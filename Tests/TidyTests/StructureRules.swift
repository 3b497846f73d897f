/// Rules about the shape of the tree: folders, files, type names, and who writes which state.
enum StructureRules {
    /// Swift files directly in one folder.
    static let folderLimit = 16
    /// Lines under which a file should be part of another one.
    static let smallFile = 40

    /// The Swift files of the programs and libraries.
    static func sources(of tree: SourceTree) -> [SourceTree.File] {
        tree.files.filter { $0.path.hasPrefix("Sources/") && $0.path.hasSuffix(".swift") }
    }

    static func crowdedFolders(in tree: SourceTree) -> [String] {
        Dictionary(grouping: sources(of: tree)) { file in
            file.path.split(separator: "/").dropLast().joined(separator: "/")
        }.filter { $0.value.count > folderLimit }.map { "\($0.key): \($0.value.count) files" }
    }

    /// - Parameter reasons: why a file is small, by path.
    static func smallFiles(in tree: SourceTree, reasons: [String: String]) -> [String] {
        sources(of: tree).filter { $0.lineCount < smallFile && reasons[$0.path] == nil }
            .map { "\($0.path): \($0.lineCount) lines" }
    }

    /// Types of the same name in any two files, whatever their module.
    static func repeatedTypes(in tree: SourceTree) -> [String] {
        var places: [String: Set<String>] = [:]
        for file in sources(of: tree) {
            for line in file.lines where line.first != " " {
                guard let type = Declaration(line), type.kind != "extension" else { continue }
                places[type.name, default: []].insert(file.path)
            }
        }
        return places.filter { $0.value.count > 1 }
            .map { "\($0.key): \($0.value.sorted().joined(separator: ", "))" }.sorted()
    }

    /// Stored properties that are written in another file than the one that declares them. What the
    /// compiler does not forbid (a setter that is not private) is looked for by name.
    /// - Parameter reasons: why a type may be written from outside, by its name.
    static func foreignWrites(in tree: SourceTree, reasons: [String: String]) -> [String] {
        let scans = sources(of: tree).map(StateScan.init)
        var owners: [String: [StateScan.Property]] = [:]
        for property in scans.flatMap(\.open) {
            owners[property.name, default: []].append(property)
        }
        return scans.flatMap { scan in
            scan.writes.flatMap { write -> [String] in
                guard !scan.declared.contains(write.name), let found = owners[write.name] else {
                    return []
                }
                return found.filter { owner in
                    guard owner.path != scan.path, reasons[owner.type] == nil else { return false }
                    return write.isMember
                        ? found.count == 1 && owner.module == scan.module
                        : scan.extended.contains(owner.type)
                }.map { "\(scan.path):\(write.line): writes \($0.type).\($0.name)" }
            }
        }
    }
}

/// The head of a type's declaration or extension. Words are split by hand: these rules read every
/// line of the repository, unoptimised.
private struct Declaration {
    let kind: Substring
    let name: String

    private static let kinds: Set<Substring> = [
        "struct", "class", "enum", "actor", "protocol", "extension",
    ]
    private static let modifiers: Set<Substring> = [
        "public", "package", "final", "indirect", "private", "fileprivate", "internal",
        "nonisolated",
    ]

    init?(_ line: String) {
        var words = line.split(separator: " ", maxSplits: 6)[...]
        while let word = words.first, Self.modifiers.contains(word) || word.hasPrefix("@") {
            words.removeFirst()
        }
        guard let kind = words.popFirst(), Self.kinds.contains(kind), let name = words.first else {
            return nil
        }
        self.kind = kind
        self.name = String(name.prefix { $0.isLetter || $0.isNumber || $0 == "_" })
    }
}

/// Which stored properties a file declares, and which names it assigns to.
private struct StateScan {
    struct Property {
        let type: String
        let name: String
        let path: String
        let module: Substring
    }

    let path: String
    let module: Substring
    /// Stored properties with a setter that other files can call.
    private(set) var open: [Property] = []
    /// Names of all its variables, private and local ones included: an assignment may mean those.
    private(set) var declared: Set<String> = []
    /// Types that it extends.
    private(set) var extended: Set<String> = []
    private(set) var writes: [(name: String, isMember: Bool, line: Int)] = []

    private var types: [(name: String, indent: Int)] = []

    private static let assignments: Set<Substring> = ["=", "+=", "-=", "&+=", "|="]

    init(_ file: SourceTree.File) {
        path = file.path
        module = file.path.split(separator: "/")[1]
        for (index, line) in file.lines.enumerated() { read(line, index + 1) }
    }

    private mutating func read(_ line: String, _ number: Int) {
        let indent = line.utf8.prefix { $0 == 0x20 }.count
        let words = line.split(separator: " ")
        guard let first = words.first, !first.hasPrefix("//") else { return }
        if first.hasPrefix("}"), types.last?.indent == indent { types.removeLast() }
        if let type = Declaration(line.trimmingPrefix(while: { $0 == " " }).description) {
            if type.kind == "extension" { extended.insert(type.name) }
            if !line.hasSuffix("}") { types.append((type.name, indent)) }
        } else if let place = words.firstIndex(where: { $0 == "var" || $0 == "let" }),
            place + 1 < words.count
        {
            let name = String(words[place + 1].prefix { $0.isLetter || $0.isNumber || $0 == "_" })
            declared.insert(name)
            // A computed property's line ends with the brace of its body.
            let isStored = words[place] == "var" && !line.hasSuffix("{") && !line.hasSuffix("}")
            let isOpen = !words[..<place].contains {
                $0.hasPrefix("private") || $0.hasPrefix("fileprivate")
            }
            if isStored, isOpen, let type = types.last, indent == type.indent + 4 {
                open.append(Property(type: type.name, name: name, path: path, module: module))
            }
        } else if words.count > 2, Self.assignments.contains(words[1]) {
            let target = first.split(separator: "[")[0].split(separator: ".")
            guard let name = target.last else { return }
            writes.append((String(name), target.count > 1, number))
        }
    }
}

extension SourceTree.File {
    var lineCount: Int { lines.last == "" ? lines.count - 1 : lines.count }
}
