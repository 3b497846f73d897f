import WakeSystem

/// Reads the body of a batch strictly.
struct RelayBatchCheck {
    struct Wake {
        let service: String
        let token: String
    }

    struct Fault: Error {
        let status: Int
        let code: String
        let word: String

        init(_ word: String, _ code: String = "relay_batch_malformed", status: Int = 400) {
            self.word = word
            self.code = code
            self.status = status
        }
    }

    static let services: Set<String> = ["apns", "apns-sandbox", "fcm"]
    static let longestBody = 655_360
    private static let most = 1000
    private static let longestLifetime = 2_419_200

    let lifetime: Int
    let wakes: [Wake]

    init(_ body: [UInt8]) throws(Fault) {
        guard let document = JSONValue(body)?.members else { throw Fault("json") }
        guard Set(document.keys) == ["lifetime", "wakes"] else { throw Fault("members") }
        guard let lifetime = document["lifetime"]?.integer,
            (0...Self.longestLifetime).contains(lifetime)
        else { throw Fault("lifetime") }
        guard let elements = document["wakes"]?.elements else { throw Fault("wakes") }
        guard elements.count <= Self.most else {
            throw Fault("too-many-wakes", "relay_batch_too_large", status: 413)
        }
        self.lifetime = lifetime
        var wakes: [Wake] = []
        for element in elements {
            guard let members = element.members, Set(members.keys) == ["service", "token"],
                let service = members["service"]?.string, let token = members["token"]?.string
            else { throw Fault("wake") }
            guard Self.services.contains(service) else { throw Fault("service") }
            guard Self.isToken(token, of: service) else { throw Fault("token") }
            wakes.append(Wake(service: service, token: token))
        }
        self.wakes = wakes
    }

    /// Hexadecimal of 32 to 100 bytes for Apple; up to 588 visible characters for FCM.
    private static func isToken(_ token: String, of service: String) -> Bool {
        let bytes = token.utf8
        if service == "fcm" {
            return (1...588).contains(bytes.count)
                && bytes.allSatisfy { (0x21...0x7E).contains($0) }
        }
        return (64...200).contains(bytes.count) && bytes.count.isMultiple(of: 2)
            && bytes.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
