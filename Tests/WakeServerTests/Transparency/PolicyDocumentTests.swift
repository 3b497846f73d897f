import Foundation
import TestSupport
import Testing
import WakeModel

@testable import WakeServer

@Suite("What is made from the policy")
struct PolicyDocumentTests {
    @Test("the table in README.md is the policy's")
    func readme() throws {
        let readme = Repository.root.appending(path: "README.md")
        let text = try String(contentsOf: readme, encoding: .utf8)
        #expect(text.contains(PolicyTable.markdown()))
    }

    @Test("the manifest for Apple's apps is a property list that declares an unlinked device ID")
    func apple() throws {
        let text = try #require(AppleManifest.propertyList())
        let manifest = try PropertyListDecoder().decode(Manifest.self, from: Data(text.utf8))
        #expect(!manifest.NSPrivacyTracking)
        #expect(manifest.NSPrivacyCollectedDataTypes.count == 1)
        let entry = try #require(manifest.NSPrivacyCollectedDataTypes.first)
        #expect(entry.NSPrivacyCollectedDataType == "NSPrivacyCollectedDataTypeDeviceID")
        #expect(!entry.NSPrivacyCollectedDataTypeLinked)
        #expect(!entry.NSPrivacyCollectedDataTypeTracking)
    }

    /// Named as Apple names its keys.
    private struct Manifest: Decodable {
        let NSPrivacyTracking: Bool
        let NSPrivacyCollectedDataTypes: [Entry]

        struct Entry: Decodable {
            let NSPrivacyCollectedDataType: String
            let NSPrivacyCollectedDataTypeLinked: Bool
            let NSPrivacyCollectedDataTypeTracking: Bool
        }
    }

    @Test("a category without a type of Apple's is an error, not left out")
    func unknownCategory() throws {
        let text = String(decoding: PrivacyPolicy.document, as: UTF8.self)
            .replacing("user.device.device_id", with: "user.contact.email")
        let policy = try PolicyDocument(Array(text.utf8))
        #expect(AppleManifest.propertyList(policy) == nil)
    }

    @Test("retention is that of the declaration that keeps longest")
    func retention() throws {
        let text = #"""
            {"system":[{"privacy_declarations":[{"retention_period":"14 days after the end"},
            {"name":"x"},
            {"retention_period":"3"}]}]}
            """#
        #expect(try PolicyDocument(Array(text.utf8)).retentionDays == 14)
        #expect(try PolicyDocument(Array("{}".utf8)).retentionDays == nil)
        #expect(PolicyDocument.inForce.retentionDays == 14)
    }
}
