import Foundation

/// The secrets that the app has, by names that it shows: they never leave the device.
struct Visits {
    let directory: URL

    private var file: URL { directory.appendingPathComponent("visits.json") }

    init() {
        directory =
            FileManager.default
            .urls(for: .applicationSupportDirectory, in: .userDomainMask)[0]
    }

    /// - Returns: nil when they cannot be read, as before the first unlock of the device.
    func secrets() -> [String: Data]? {
        guard FileManager.default.fileExists(atPath: file.path) else { return [:] }
        guard let data = try? Data(contentsOf: file) else { return nil }
        return try? JSONDecoder().decode([String: Data].self, from: data)
    }

    /// Keeps what a visit brought, such as 32 bytes of a QR code at the door.
    func add(_ secret: Data, named name: String) throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        guard var all = secrets() else { throw CocoaError(.fileReadNoPermission) }
        all[name] = secret
        #if canImport(Darwin)
            let options: Data.WritingOptions = [
                .atomic, .completeFileProtectionUntilFirstUserAuthentication,
            ]
        #else
            let options: Data.WritingOptions = .atomic
        #endif
        try JSONEncoder().encode(all).write(to: file, options: options)
    }
}
