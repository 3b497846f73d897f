import WakeModel
import WakeSystem

/// The declared form of a store and its log, from `Policy/privacy.json`: a Fides manifest with the
/// datasets `reveille_store`, `reveille_service_state`, `reveille_keys` and `reveille_log`, and the
/// logs of the other programs.
package struct AuditPolicy: Sendable, Equatable {
    package struct Table: Sendable, Equatable {
        package let name: String
        /// The whole `CREATE TABLE`, letter by letter.
        package let definition: String
        /// Bytes of each column, in order; every column holds blobs.
        package let lengths: [Int]
    }

    /// A line that a log may hold.
    package struct Event: Sendable, Equatable {
        package let name: String
        /// In the order they are written.
        package let fields: [Field]
        /// Words of a message stand in place of fields.
        package let isSentence: Bool
    }

    package struct Field: Sendable, Equatable {
        package let name: String
        package let form: Form
    }

    package enum Form: Sendable, Equatable {
        case number
        /// One word of a list, or several of them with `+` between.
        case words([String])
    }

    package var tables: [Table]
    package var applicationID: UInt32
    package var userVersion: UInt32
    package var pageSize: Int
    package var fileMode: UInt32
    /// Names of files that may lie beside the database.
    package var siblings: [String]
    /// The form of each.
    let forms: [String: StateForm]
    package var directoryMode: UInt32
    /// The form of each kind of key file.
    let keyForms: [String: StateForm]
    /// What the mode of a key file has at most.
    package var keyFileMode: UInt32
    /// `PRAGMA schema_version` of every file.
    package var schemaCookie: UInt32
    package var levels: [String]
    /// The events of each program.
    package var logs: [String: [Event]]
    /// BLAKE2b-256 of the document, hexadecimal: what `b2sum -l 256` prints.
    package let hash: String
}

extension AuditPolicy {
    /// - Throws: `.policy` for anything but a manifest with all that an audit needs.
    package init(_ document: [UInt8]) throws(AuditFailure) {
        guard let manifest = try? JSONValue(parsing: document, depthLimit: 12),
            let policy = Self.policy(
                manifest["dataset"].elements, hash: Blake2b.hash(document.span))
        else { throw .policy }
        self = policy
    }

    /// - Returns: nil when something is missing or makes no sense.
    private static func policy(_ datasets: [JSONValue], hash: [UInt8]) -> AuditPolicy? {
        func dataset(_ key: String) -> JSONValue? { datasets.first { $0["fides_key"].text == key } }
        guard let store = dataset("reveille_store"),
            let state = dataset("reveille_service_state"), let keys = dataset("reveille_keys"),
            let log = dataset("reveille_log"),
            let application = UInt32(store["meta"]["application_id"].text),
            let version = UInt32(store["meta"]["user_version"].text),
            let pageSize = Int(store["meta"]["page_size"].text),
            (512...32_768).contains(pageSize), pageSize & (pageSize - 1) == 0,
            let mode = UInt32(store["meta"]["file_mode"].text, radix: 8),
            let directoryMode = UInt32(state["meta"]["directory_mode"].text, radix: 8),
            let cookie = UInt32(store["meta"]["schema_cookie"].text),
            let forms = forms(state), let keyForms = Self.forms(keys),
            let keyMode = UInt32(keys["meta"]["file_mode"].text, radix: 8),
            keyForms[MasterKeys.kind] != nil,
            case .string = log["meta"]["levels"], !store["collections"].elements.isEmpty
        else { return nil }
        var tables: [Table] = []
        for collection in store["collections"].elements {
            let fields = collection["fields"].elements
            let lengths = fields.compactMap { $0["fides_meta"]["length"].integer }
            // Larger rows would spill into overflow pages: nothing of ours does.
            guard lengths.count == fields.count,
                RecordLayout(lengths: lengths, pageSize: pageSize) != nil
            else { return nil }
            tables.append(
                Table(
                    name: collection["name"].text, definition: collection["description"].text,
                    lengths: lengths))
        }
        var logs: [String: [Event]] = [:]
        for log in datasets where !log["meta"]["program"].text.isEmpty {
            let events = log["collections"].elements.compactMap { event($0, log["meta"]) }
            guard events.count == log["collections"].elements.count else { return nil }
            logs[log["meta"]["program"].text] = events
        }
        return AuditPolicy(
            tables: tables, applicationID: application, userVersion: version, pageSize: pageSize,
            fileMode: mode, siblings: state["collections"].elements.map { $0["name"].text },
            forms: forms, directoryMode: directoryMode, keyForms: keyForms, keyFileMode: keyMode,
            schemaCookie: cookie,
            levels: words(log["meta"]["levels"]), logs: logs,
            hash: String(decoding: Hex.encode(hash.span), as: UTF8.self))
    }

    /// - Returns: nil when a declared file has none.
    private static func forms(_ state: JSONValue) -> [String: StateForm]? {
        var forms: [String: StateForm] = [:]
        for collection in state["collections"].elements {
            let name = collection["name"].text
            guard let form = StateForm(state["meta"]["form_" + name].text) else { return nil }
            forms[name] = form
        }
        return forms
    }

    private static func event(_ event: JSONValue, _ meta: JSONValue) -> Event? {
        let (name, declared) = (event["name"].text, event["fields"].elements)
        if name == meta["sentence"].text {
            return Event(name: name, fields: [], isSentence: true)
        }
        let fields = declared.compactMap { field($0, meta) }
        guard fields.count == declared.count else { return nil }
        return Event(name: name, fields: fields, isSentence: false)
    }

    private static func field(_ field: JSONValue, _ meta: JSONValue) -> Field? {
        let name = field["name"].text
        switch field["fides_meta"]["data_type"].text {
        case "integer": return Field(name: name, form: .number)
        case "string":
            guard case .string = meta["words_" + name] else { return nil }
            return Field(name: name, form: .words(words(meta["words_" + name])))
        default: return nil
        }
    }

    private static func words(_ list: JSONValue) -> [String] {
        list.text.split(separator: " ").map(String.init)
    }
}
