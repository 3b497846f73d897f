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

    /// The columns of a registration: the files of both generations have the same.
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

/// `Policy/privacy.json` as it was when this program was built.
package enum PrivacyPolicy {
    package static let document: [UInt8] = PackageResources.privacy_json

    /// BLAKE2b-256 of the document, hexadecimal: what `b2sum -l 256 Policy/privacy.json` prints.
    package static let hash: String = {
        let hash = Blake2b.hash(document.span)
        return String(decoding: Hex.encode(hash.span), as: UTF8.self)
    }()
}

/// The policy's columns as a Markdown table; a test compares README.md with it.
package enum PolicyTable {
    package static func markdown(_ policy: PolicyDocument = .inForce) -> String {
        let rows = policy.columns.map { column in
            "| `\(column.name)` | \(column.length.map(String.init) ?? "") | \(column.description) |"
        }
        return (["| column | bytes | what it is |", "|---|---|---|"] + rows)
            .joined(separator: "\n") + "\n"
    }
}

/// The entries that an app which registers with this service adds to its own privacy manifest
/// (developer.apple.com, "Privacy manifest files" and "Describing data use in privacy manifests").
package enum AppleManifest {
    /// Push tokens and random numbers made for one installation: "other device-level IDs".
    private static let deviceIDs = ["user.device.device_id", "user.unique_id.pseudonymous"]

    /// A property list with the type of data that all of the policy's columns come under; nil when
    /// a category has no known type of Apple's.
    package static func propertyList(_ policy: PolicyDocument = .inForce) -> String? {
        let categories = policy.columns.flatMap(\.categories)
        guard categories.allSatisfy(deviceIDs.contains) else { return nil }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" \
            "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <dict>
            \t<key>NSPrivacyTracking</key>
            \t<false/>
            \t<key>NSPrivacyTrackingDomains</key>
            \t<array/>
            \t<key>NSPrivacyCollectedDataTypes</key>
            \t<array>
            \(categories.isEmpty ? "" : deviceIDEntry)
            \t</array>
            </dict>
            </plist>

            """
    }

    private static let deviceIDEntry = """
        \t\t<dict>
        \t\t\t<key>NSPrivacyCollectedDataType</key>
        \t\t\t<string>NSPrivacyCollectedDataTypeDeviceID</string>
        \t\t\t<key>NSPrivacyCollectedDataTypeLinked</key>
        \t\t\t<false/>
        \t\t\t<key>NSPrivacyCollectedDataTypeTracking</key>
        \t\t\t<false/>
        \t\t\t<key>NSPrivacyCollectedDataTypePurposes</key>
        \t\t\t<array>
        \t\t\t\t<string>NSPrivacyCollectedDataTypePurposeAppFunctionality</string>
        \t\t\t</array>
        \t\t</dict>
        """
}
