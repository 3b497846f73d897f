import Foundation
import TestSupport
import WakeSystem

/// One request to a mock by plain HTTP/1.1, written out.
struct MockCall {
    var method = "POST"
    var path = "/"
    var host = "localhost"
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []
    /// Whether a Content-Length is told.
    var tellsLength = true

    init(_ path: String, _ fields: [(String, String)] = [], body: String = "") {
        self.path = path
        self.fields = fields.map { (name: $0.0, value: $0.1) }
        self.body = Array(body.utf8)
    }

    /// Another value for a field; nil leaves it out.
    func with(_ name: String, _ value: String?) -> MockCall {
        var call = self
        call.fields.removeAll { $0.name.lowercased() == name.lowercased() }
        if let value { call.fields.append((name, value)) }
        return call
    }

    var bytes: [UInt8] {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n"
        for field in fields { head += "\(field.name): \(field.value)\r\n" }
        if tellsLength { head += "Content-Length: \(body.count)\r\n" }
        return Array((head + "\r\n").utf8) + body
    }

    /// Sends it on a connection of its own.
    func answer(from port: Int) throws -> WireResponse {
        let client = try LoopbackClient(port: UInt16(port))
        try client.send(bytes)
        return try client.receiveResponse()
    }
}

extension WireResponse {
    var text: String { String(decoding: body, as: UTF8.self) }

    /// A member of the JSON object that the body is.
    func member(_ name: String) -> String? {
        let object = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]
        return object?[name] as? String
    }
}

/// JSON Web Tokens, put together from text.
enum MockToken {
    static func part(_ text: String) -> String { part(Array(text.utf8)) }

    static func part(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }

    static var now: Int { Int(Date.now.timeIntervalSince1970) }
}
