/// What a store may be, as `Policy/privacy.json` says: a Fides manifest whose first dataset is the
/// database, whose `reveille_service_state` are the files beside it, and whose `reveille_log` is
/// the vocabulary of the log.
package struct AuditPolicy: Sendable, Equatable {
    /// One table, and what its rows are made of.
    package struct Table: Sendable, Equatable {
        package let name: String
        /// The whole `CREATE TABLE`, letter by letter.
        package let definition: String
        /// Bytes of each column, in order; every column holds blobs.
        package let lengths: [Int]
    }

    /// One thing a log may say.
    package struct Event: Sendable, Equatable {
        package let name: String
        /// In the order they are written.
        package let fields: [Field]
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
    package var levels: [String]
    package var events: [Event]
    /// BLAKE2b-256 of the document, hexadecimal: what `b2sum -l 256` prints.
    package let hash: String
}
