package import WakeModel
import WakeSystem

/// The parts of `Policy/privacy.json`, a Fides manifest, that other texts are made from.
package struct PolicyDocument: Sendable, Equatable {
    package struct Field: Sendable, Equatable {
        package let name: String
        package let description: String
        /// Bytes; nil where the policy names none.
        package let length: Int?
        package let categories: [String]
    }

    package struct Collection: Sendable, Equatable {
        package let name: String
        package let description: String
        package let fields: [Field]
    }

    package struct Dataset: Sendable, Equatable {
        package let key: String
        package let description: String
        package let collections: [Collection]
    }

    package let datasets: [Dataset]
    /// Days after the last renewal until a registration is gone for certain; nil: no expiry.
    package let retentionDays: Int?

    /// The columns of a registration: both tables have the same.
    package var columns: [Field] { dataset("reveille_store")?.collections.first?.fields ?? [] }
    /// The files beside the database.
    package var state: [Collection] { dataset("reveille_service_state")?.collections ?? [] }
    package func dataset(_ key: String) -> Dataset? { datasets.first { $0.key == key } }

    package static let inForce: PolicyDocument = {
        do throws(JSONError) {
            return try PolicyDocument(PrivacyPolicy.document)
        } catch { preconditionFailure("Policy/privacy.json is a Fides manifest") }
    }()

    package init(_ bytes: [UInt8]) throws(JSONError) {
        let document = try JSONValue(parsing: bytes, depthLimit: 16)
        datasets = document["dataset"].elements.map(Self.dataset)
        // `retention_period` begins with days; the longest counts.
        retentionDays = document["system"].elements
            .flatMap { $0["privacy_declarations"].elements }
            .compactMap { Int($0["retention_period"].text.prefix { $0.isNumber }) }.max()
    }

    private static func dataset(_ value: JSONValue) -> Dataset {
        Dataset(
            key: value["fides_key"].text, description: value["description"].text,
            collections: value["collections"].elements.map { collection in
                Collection(
                    name: collection["name"].text, description: collection["description"].text,
                    fields: collection["fields"].elements.map { field in
                        Field(
                            name: field["name"].text, description: field["description"].text,
                            length: field["fides_meta"]["length"].integer,
                            categories: field["data_categories"].elements.map(\.text))
                    })
            })
    }
}
