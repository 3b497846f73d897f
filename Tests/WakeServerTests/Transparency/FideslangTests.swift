import Foundation
import Testing
import WakeServer

/// The policy read by fideslang, the reference implementation of Fides manifests (PyPI).
@Suite(
    "The policy is a Fides manifest to others",
    .enabled(
        if: Fideslang.isInstalled,
        "needs python3 with fideslang"))
struct FideslangTests {
    @Test("fideslang takes it, drops no member, and knows every category, use and subject")
    func valid() throws {
        #expect(try Fideslang.run(PrivacyPolicy.document) == "8 1 1\n")
    }

    @Test(
        "the control: other words and members are found",
        arguments: [
            ("user.device.device_id", "user.device.shoe_size"),
            ("essential.service.notifications", "essential.service.curiosity"),
            (#""data_subjects": ["customer"]"#, #""data_subjects": ["passer_by"]"#),
            (#""system_type": "Service""#, #""system_kind": "Service""#),
            (#""fides_key": "reveille_store""#, #""fides_key": "reveille store""#),
        ])
    func control(_ right: String, _ wrong: String) throws {
        let text = String(decoding: PrivacyPolicy.document, as: UTF8.self)
        #expect(text.contains(right))
        let changed = text.replacing(right, with: wrong)
        #expect(try Fideslang.run(Array(changed.utf8)) != "8 1 1\n")
    }
}

enum Fideslang {
    static let isInstalled = (try? run(["import fideslang"], [])) == ""

    /// - Returns: what it found wrong, and the number of datasets, systems and policies; something
    ///   else when it could not read the manifest at all.
    static func run(_ manifest: [UInt8]) throws -> String { try run([script], manifest) }

    private static func run(_ script: [String], _ input: [UInt8]) throws -> String {
        let folder = FileManager.default.temporaryDirectory
        let file = folder.appending(path: "reveille-policy-\(UUID().uuidString)")
        try Data(input).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c"] + script
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.standardInput = try FileHandle(forReadingFrom: file)
        try process.run()
        let said = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let text = String(decoding: said, as: UTF8.self)
        return process.terminationStatus == 0 ? text : text + "status \(process.terminationStatus)"
    }

    private static let script = """
        import json, sys
        from fideslang.models import Taxonomy
        from fideslang.default_taxonomy import DEFAULT_TAXONOMY as known

        words = {
            "data_categories": {entry.fides_key for entry in known.data_category},
            "data_use": {entry.fides_key for entry in known.data_use},
            "data_subjects": {entry.fides_key for entry in known.data_subject}}

        def name(value):
            if not isinstance(value, dict):
                return ""
            return value.get("fides_key") or value.get("name") or ""

        def compare(given, kept, path):
            # A member that the models do not know is dropped without a word.
            if isinstance(given, dict):
                for key, value in given.items():
                    for word in value if isinstance(value, list) else [value]:
                        if key in words and isinstance(word, str) and word not in words[key]:
                            print("unknown", path, key, word)
                    if key not in kept:
                        print("dropped", path, key)
                    else:
                        compare(value, kept[key], path + "." + key)
            elif isinstance(given, list):
                if len(given) != len(kept):
                    print("dropped", path)
                # The models sort what has a name.
                for one, other in zip(sorted(given, key=name), sorted(kept, key=name)):
                    compare(one, other, path + "." + name(one))

        given = json.load(sys.stdin)
        manifest = Taxonomy.model_validate(given)
        compare(given, manifest.model_dump(mode="json"), "")
        print(len(manifest.dataset), len(manifest.system), len(manifest.policy))
        """
}
