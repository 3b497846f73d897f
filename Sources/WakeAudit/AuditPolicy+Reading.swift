import WakeModel
import WakeSodium

extension AuditPolicy {
    /// - Throws: `.policy` for anything but a manifest with all that an audit needs.
    package init(_ document: [UInt8]) throws(AuditFailure) {
        var manifest = Manifest()
        do throws(JSONError) {
            var scanner = try JSONScanner(document, depthLimit: 12)
            try scanner.document { (scanner) throws(JSONError) in
                try manifest.read(from: &scanner)
            }
        } catch {
            throw .policy
        }
        let hash = Blake2b.hash(document.span)
        guard
            let policy = manifest.policy(
                hash: String(decoding: Hex.encode(hash.span), as: UTF8.self))
        else { throw .policy }
        self = policy
    }
}

/// The datasets of a manifest, as far as an audit asks.
private struct Manifest {
    struct Dataset {
        var key = ""
        var meta: [String: String] = [:]
        var collections: [Collection] = []
    }

    struct Collection {
        var name = ""
        var description = ""
        var fields: [Field] = []
    }

    struct Field {
        var name = ""
        var type = ""
        var length: Int?
    }

    private var datasets: [Dataset] = []

    mutating func read(from scanner: inout JSONScanner) throws(JSONError) {
        try scanner.object { (scanner, name) throws(JSONError) in
            guard name.span.equals("dataset") else { return try scanner.skip() }
            try scanner.array { (scanner) throws(JSONError) in
                datasets.append(try Self.dataset(&scanner))
            }
        }
    }

    private static func dataset(_ scanner: inout JSONScanner) throws(JSONError) -> Dataset {
        var dataset = Dataset()
        try scanner.object { (scanner, name) throws(JSONError) in
            if name.span.equals("fides_key") {
                dataset.key = try text(&scanner)
            } else if name.span.equals("meta") {
                try scanner.object { (scanner, name) throws(JSONError) in
                    dataset.meta[String(decoding: name, as: UTF8.self)] = try text(&scanner)
                }
            } else if name.span.equals("collections") {
                try scanner.array { (scanner) throws(JSONError) in
                    dataset.collections.append(try collection(&scanner))
                }
            } else {
                try scanner.skip()
            }
        }
        return dataset
    }

    private static func collection(_ scanner: inout JSONScanner) throws(JSONError) -> Collection {
        var collection = Collection()
        try scanner.object { (scanner, name) throws(JSONError) in
            if name.span.equals("name") {
                collection.name = try text(&scanner)
            } else if name.span.equals("description") {
                collection.description = try text(&scanner)
            } else if name.span.equals("fields") {
                try scanner.array { (scanner) throws(JSONError) in
                    collection.fields.append(try field(&scanner))
                }
            } else {
                try scanner.skip()
            }
        }
        return collection
    }

    private static func field(_ scanner: inout JSONScanner) throws(JSONError) -> Field {
        var field = Field()
        try scanner.object { (scanner, name) throws(JSONError) in
            if name.span.equals("name") {
                field.name = try text(&scanner)
            } else if name.span.equals("fides_meta") {
                try scanner.object { (scanner, name) throws(JSONError) in
                    if name.span.equals("data_type") {
                        field.type = try text(&scanner)
                    } else if name.span.equals("length") {
                        field.length = try scanner.integer()
                    } else {
                        try scanner.skip()
                    }
                }
            } else {
                try scanner.skip()
            }
        }
        return field
    }

    private static func text(_ scanner: inout JSONScanner) throws(JSONError) -> String {
        String(decoding: try scanner.string(), as: UTF8.self)
    }

    // MARK: What it comes to

    /// - Returns: nil when something is missing or makes no sense.
    func policy(hash: String) -> AuditPolicy? {
        guard let store = dataset("reveille_store"),
            let state = dataset("reveille_service_state"), let log = dataset("reveille_log"),
            let application = store.meta["application_id"].flatMap(UInt32.init),
            let version = store.meta["user_version"].flatMap(UInt32.init),
            let pageSize = store.meta["page_size"].flatMap(Int.init),
            (512...32_768).contains(pageSize), pageSize & (pageSize - 1) == 0,
            let mode = store.meta["file_mode"].flatMap({ UInt32($0, radix: 8) }),
            let levels = log.meta["levels"], !store.collections.isEmpty
        else { return nil }
        var tables: [AuditPolicy.Table] = []
        for collection in store.collections {
            let lengths = collection.fields.compactMap(\.length)
            // Larger rows would spill into overflow pages: nothing of ours does.
            guard lengths.count == collection.fields.count,
                RecordForm(lengths: lengths, pageSize: pageSize) != nil
            else { return nil }
            tables.append(
                .init(
                    name: collection.name, definition: collection.description, lengths: lengths))
        }
        var events: [AuditPolicy.Event] = []
        for collection in log.collections {
            var fields: [AuditPolicy.Field] = []
            for field in collection.fields {
                guard let form = form(field, log.meta) else { return nil }
                fields.append(.init(name: field.name, form: form))
            }
            events.append(.init(name: collection.name, fields: fields))
        }
        return AuditPolicy(
            tables: tables, applicationID: application, userVersion: version, pageSize: pageSize,
            fileMode: mode, siblings: state.collections.map(\.name), levels: Self.words(levels),
            events: events, hash: hash)
    }

    private func dataset(_ key: String) -> Dataset? {
        datasets.first { $0.key == key }
    }

    private func form(_ field: Field, _ meta: [String: String]) -> AuditPolicy.Form? {
        switch field.type {
        case "integer": .number
        case "string": meta["words_" + field.name].map { .words(Self.words($0)) }
        default: nil
        }
    }

    private static func words(_ list: String) -> [String] {
        list.split(separator: " ").map(String.init)
    }
}
