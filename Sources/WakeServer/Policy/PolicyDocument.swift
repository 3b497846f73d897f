package import WakeModel

/// The parts of `Policy/privacy.json` that people are shown. Everything that tells people what is
/// stored is made from this value, so it cannot say anything else than the policy does.
///
/// The form is that of a Fides manifest (fideslang: datasets, collections, fields; systems with
/// their privacy declarations).
package struct PolicyDocument: Sendable, Equatable {
    package struct Field: Sendable, Equatable {
        package var name = ""
        package var description = ""
        /// Bytes; nil where the policy names none.
        package var length: Int?
        package var categories: [String] = []
    }

    package struct Collection: Sendable, Equatable {
        package var name = ""
        package var description = ""
        package var fields: [Field] = []
    }

    package struct Dataset: Sendable, Equatable {
        package var key = ""
        package var description = ""
        package var collections: [Collection] = []
    }

    package private(set) var datasets: [Dataset] = []
    /// Days after the last renewal until a registration is gone for certain; nil: no expiry.
    package private(set) var retentionDays: Int?

    /// The columns of a registration: both tables have the same.
    package var columns: [Field] { dataset("reveille_store")?.collections.first?.fields ?? [] }

    /// What lies beside the database.
    package var state: [Collection] { dataset("reveille_service_state")?.collections ?? [] }

    package func dataset(_ key: String) -> Dataset? { datasets.first { $0.key == key } }

    /// The policy that is part of this program.
    package static let inForce: PolicyDocument = {
        do throws(JSONError) {
            return try PolicyDocument(PrivacyPolicy.document)
        } catch {
            preconditionFailure("Policy/privacy.json is a Fides manifest")
        }
    }()

    // MARK: Reading

    package init(_ bytes: [UInt8]) throws(JSONError) {
        var scanner = try JSONScanner(bytes, depthLimit: 16)
        self = try scanner.document { (scanner) throws(JSONError) in
            try Self.read(&scanner)
        }
    }

    private init() {}

    private static func read(_ scanner: inout JSONScanner) throws(JSONError) -> PolicyDocument {
        var document = PolicyDocument()
        try scanner.object { (scanner, name) throws(JSONError) in
            switch text(name) {
            case "dataset":
                try scanner.array { (scanner) throws(JSONError) in
                    document.datasets.append(try dataset(&scanner))
                }
            case "system":
                try scanner.array { (scanner) throws(JSONError) in
                    if let days = try retention(ofSystem: &scanner) {
                        document.retentionDays = days
                    }
                }
            default: try scanner.skip()
            }
        }
        return document
    }

    private static func dataset(_ scanner: inout JSONScanner) throws(JSONError) -> Dataset {
        var dataset = Dataset()
        try scanner.object { (scanner, name) throws(JSONError) in
            switch text(name) {
            case "fides_key": dataset.key = text(try scanner.string())
            case "description": dataset.description = text(try scanner.string())
            case "collections":
                try scanner.array { (scanner) throws(JSONError) in
                    dataset.collections.append(try collection(&scanner))
                }
            default: try scanner.skip()
            }
        }
        return dataset
    }

    private static func collection(
        _ scanner: inout JSONScanner
    ) throws(JSONError) -> Collection {
        var collection = Collection()
        try scanner.object { (scanner, name) throws(JSONError) in
            switch text(name) {
            case "name": collection.name = text(try scanner.string())
            case "description": collection.description = text(try scanner.string())
            case "fields":
                try scanner.array { (scanner) throws(JSONError) in
                    collection.fields.append(try field(&scanner))
                }
            default: try scanner.skip()
            }
        }
        return collection
    }

    private static func field(_ scanner: inout JSONScanner) throws(JSONError) -> Field {
        var field = Field()
        try scanner.object { (scanner, name) throws(JSONError) in
            switch text(name) {
            case "name": field.name = text(try scanner.string())
            case "description": field.description = text(try scanner.string())
            case "data_categories":
                try scanner.array { (scanner) throws(JSONError) in
                    field.categories.append(text(try scanner.string()))
                }
            case "fides_meta":
                try scanner.object { (scanner, name) throws(JSONError) in
                    guard text(name) == "length" else { return try scanner.skip() }
                    field.length = try scanner.integer()
                }
            default: try scanner.skip()
            }
        }
        return field
    }

    /// `retention_period` of its privacy declarations, which begins with days: the longest.
    private static func retention(
        ofSystem scanner: inout JSONScanner
    ) throws(JSONError) -> Int? {
        var days: Int?
        try scanner.object { (scanner, name) throws(JSONError) in
            guard text(name) == "privacy_declarations" else { return try scanner.skip() }
            try scanner.array { (scanner) throws(JSONError) in
                try scanner.object { (scanner, name) throws(JSONError) in
                    guard text(name) == "retention_period" else { return try scanner.skip() }
                    let period = Int(text(try scanner.string()).prefix { $0.isNumber })
                    days = [days, period].compactMap(\.self).max()
                }
            }
        }
        return days
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
