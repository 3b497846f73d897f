/// What an app that registers with this service adds to its own privacy manifest
/// (developer.apple.com, "Privacy manifest files" and "Describing data use in privacy manifests").
package enum AppleManifest {
    /// Why no manifest can be made.
    package enum Failure: Error, Equatable, Sendable {
        /// A category of the policy for which this program knows no type of Apple's.
        case unknownCategory(String)
    }

    /// A property list with the collected data types, one for each type of Apple's that the
    /// policy's columns come under.
    package static func propertyList(
        _ policy: PolicyDocument = .inForce
    ) throws(Failure) -> String {
        var types: [String] = []
        for column in policy.columns {
            for category in column.categories {
                let type = try type(of: category)
                if !types.contains(type) { types.append(type) }
            }
        }
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
            \(types.map(entry).joined(separator: "\n"))
            \t</array>
            </dict>
            </plist>

            """
    }

    /// Both a push token and a random number made for one installation are "other device-level
    /// IDs" to Apple.
    private static func type(of category: String) throws(Failure) -> String {
        switch category {
        case "user.device.device_id", "user.unique_id.pseudonymous":
            "NSPrivacyCollectedDataTypeDeviceID"
        default: throw .unknownCategory(category)
        }
    }

    private static func entry(_ type: String) -> String {
        """
        \t\t<dict>
        \t\t\t<key>NSPrivacyCollectedDataType</key>
        \t\t\t<string>\(type)</string>
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
}
