import WakeFetch
import WakeSystem

/// Binary messages (RFC 9292), key configurations and encapsulated requests (RFC 9458).
enum MessageProperty {
    private static let ring: ObliviousKeyRing = {
        let secret = [UInt8](repeating: 7, count: 32)
        return ObliviousKeyRing([
            ObliviousKey(id: 1, secret: secret.span, ciphers: [.chaCha20Poly1305])
        ])
    }()

    /// - Parameter input: any of the three.
    static func check(_ input: [UInt8]) throws(Violation) -> Bool {
        let isMessage = try checkMessage(input)
        let isList = try checkList(input)
        return try checkRequest(input) || isMessage || isList
    }

    private static func checkMessage(_ input: [UInt8]) throws(Violation) -> Bool {
        guard let message = try? BinaryMessage(input) else { return false }
        var end = 1
        func follows(_ range: Range<Int>) throws(Violation) {
            try require(range.lowerBound >= end && range.upperBound <= input.count, "a place")
            end = range.upperBound
        }
        switch message.control {
        case .request(let method, let scheme, let authority, let path):
            for range in [method, scheme, authority, path] { try follows(range) }
            try require(input[path].first == 0x2F && !method.isEmpty, "a request of nothing")
        case .response(let status):
            try require((200...599).contains(status), "a status that ends nothing")
        }
        try require(
            message.fields.count + message.trailers.count <= BinaryMessage.fieldLimit, "fields")
        for field in message.fields {
            try follows(field.name)
            try follows(field.value)
        }
        for chunk in message.content { try follows(chunk) }
        for field in message.fields + message.trailers {
            try require(
                input[field.name].allSatisfy { (0x21...0x7E).contains($0) && !$0.isCapital },
                "a name")
            try require(
                input[field.value].allSatisfy { ![0, 0x0A, 0x0D].contains($0) }, "a value")
        }
        let padded = try? BinaryMessage(input + [0, 0, 0])
        try require(padded == message, "padding that says something")
        try checkWriting(message, input)
        return true
    }

    /// Written again, it says the same.
    private static func checkWriting(
        _ message: BinaryMessage, _ input: [UInt8]
    ) throws(Violation) {
        guard case .response(let status) = message.control else { return }
        var writer = BinaryMessageWriter(status: status, capacity: input.count)
        for field in message.fields {
            writer.add(input.span.extracting(field.name), input.span.extracting(field.value))
        }
        let content = message.content(in: input.span)
        let written = writer.finish(content: content.span) ?? []
        let again = try? BinaryMessage(written)
        try require(again?.control == message.control, "another status")
        try require(again?.content(in: written.span) == content, "another content")
        let fields = again?.fields ?? []
        try require(fields.count == message.fields.count, "other fields")
        for (one, other) in zip(fields, message.fields) {
            try require(written[one.name].elementsEqual(input[other.name]), "another name")
            try require(written[one.value].elementsEqual(input[other.value]), "another value")
        }
    }

    private static func checkList(_ input: [UInt8]) throws(Violation) -> Bool {
        guard let list = KeyConfiguration.list(input) else { return false }
        let encoded = KeyConfiguration.encode(list)
        try require(encoded.count <= input.count, "keys that nobody offered")
        for configuration in list {
            try require(configuration.publicKey.count == 32, "a key of another length")
            try require(
                KeyConfiguration(decoding: configuration.bytes) == configuration,
                "a key of two forms")
        }
        try require(list.isEmpty || KeyConfiguration.list(encoded) == list, "a list of two forms")
        return !list.isEmpty
    }

    private static func checkRequest(_ input: [UInt8]) throws(Violation) -> Bool {
        guard case .success(let opened) = ring.open(input.span) else { return false }
        try require(
            opened.message.bytes.count + ObliviousRequest.overhead == input.count, "a length")
        let answer = opened.response.seal([1])
        try require(answer?.count == opened.response.overhead + 1, "an answer of another length")
        return true
    }
}
