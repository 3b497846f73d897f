import WakeFetch
private import WakeFiles
private import WakeModel

/// Who pushes: the service account of a Firebase project, from the JSON file that the console gives
/// out once.
package struct FCMCredentials: Sendable {
    /// The project, which stands in the path of every request.
    package let projectID: String
    /// `iss`: the service account's e-mail address.
    let clientEmail: String
    /// `kid`: the key within the account; files of old may lack it.
    let privateKeyID: String?
    let key: RSAKey
    /// Where assertions are exchanged for access tokens, and their `aud`: the characters of the
    /// file, which is what the far end compares with.
    let audience: String
    /// The same as an address.
    let tokenURL: FetchURL

    /// Reads the file.
    /// - Throws: `fileNotPrivate` when others can read it: whoever has it pushes as the app.
    package init(file path: String) throws(FCMCredentialError) {
        var text = try Self.read(path)
        defer { wipe(&text) }
        try self.init(json: text)
    }

    /// - Throws: the first member that is missing or not of the form Google gives.
    init(json: [UInt8]) throws(FCMCredentialError) {
        var members = try Members(json)
        defer { members.wipe() }
        let type = members["type"] ?? []
        guard type.span.equals("service_account") else { throw .type }
        guard let project = members.text("project_id", Self.isProject) else { throw .projectID }
        guard let email = members.text("client_email", Self.isEmail) else { throw .clientEmail }
        guard let address = members.text("token_uri", { $0.count <= FetchURL.maximumLength }),
            let url = Self.url(address)
        else { throw .tokenURI }
        if members["private_key_id"] != nil {
            guard let id = members.text("private_key_id", Self.isKeyID) else {
                throw .privateKeyID
            }
            privateKeyID = id
        } else {
            privateKeyID = nil
        }
        guard let pem = members["private_key"] else { throw .key(.keyMalformed) }
        do throws(SigningError) {
            key = try RSAKey(pem: pem.span)
        } catch {
            throw .key(error)
        }
        projectID = project
        clientEmail = email
        audience = address
        tokenURL = url
    }

    private static func read(_ path: String) throws(FCMCredentialError) -> [UInt8] {
        do throws(FileError) {
            if try FileStatus(of: path).isPrivate {
                return try Files.read(path, limit: fileLimit)
            }
        } catch {
            throw .file(error)
        }
        throw .fileNotPrivate
    }

    /// Bytes of a file at most: one with 2048 bits has about 2400.
    private static let fileLimit = 16_384

    // MARK: Forms

    /// Letters, digits, hyphens, and in old projects of a domain full stops and a colon
    /// (cloud.google.com, "Creating and managing projects"). It goes into the path.
    private static func isProject(_ text: [UInt8]) -> Bool {
        (1...128).contains(text.count)
            && text.allSatisfy { isAlphanumeric($0) || "-.:".utf8.contains($0) }
            && !text.elementsEqual(".".utf8) && !text.elementsEqual("..".utf8)
    }

    private static func isEmail(_ text: [UInt8]) -> Bool {
        (3...320).contains(text.count) && text.contains(UInt8(ascii: "@"))
            && text.allSatisfy { (0x21...0x7E).contains($0) }
    }

    private static func isKeyID(_ text: [UInt8]) -> Bool {
        (1...128).contains(text.count) && text.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// `https`, or `http` on this machine for tests: an assertion is worth an access token.
    private static func url(_ text: String) -> FetchURL? {
        do throws(FetchError) {
            let url = try FetchURL(text)
            return url.scheme == .https || url.reach == .loopback ? url : nil
        } catch {
            return nil
        }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x61...0x7A).contains(byte)
    }
}

/// The text members of the file, by name. Google adds members; those are passed over.
private struct Members {
    private var texts: [(name: [UInt8], value: [UInt8])] = []

    private static let wanted: [StaticString] = [
        "type", "project_id", "private_key_id", "private_key", "client_email", "token_uri",
    ]

    init(_ json: [UInt8]) throws(FCMCredentialError) {
        var texts: [(name: [UInt8], value: [UInt8])] = []
        do throws(JSONError) {
            var scanner = try JSONScanner(json)
            try scanner.document { scanner throws(JSONError) in
                try scanner.object { scanner, name throws(JSONError) in
                    if Self.wanted.contains(where: { name.span.equals($0) }) {
                        texts.append((name, try scanner.string()))
                    } else {
                        try scanner.skip()
                    }
                }
            }
        } catch {
            throw .fileMalformed
        }
        self.texts = texts
    }

    subscript(name: StaticString) -> [UInt8]? {
        texts.first { $0.name.span.equals(name) }?.value
    }

    /// A member as text when it is of the form that `isGood` tells.
    func text(_ name: StaticString, _ isGood: ([UInt8]) -> Bool) -> String? {
        guard let value = self[name], isGood(value) else { return nil }
        return String(decoding: value, as: UTF8.self)
    }

    mutating func wipe() {
        for index in texts.indices { WakeModel.wipe(&texts[index].value) }
    }
}

extension FCMCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(fcm credentials)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
