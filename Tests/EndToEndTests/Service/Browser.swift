import Foundation
import TestSupport
import WakeSystem

/// A headless Chromium with one page, driven by its debugging protocol
/// (chromedevtools.github.io/devtools-protocol).
final class Browser {
    /// Where Debian and Ubuntu put it; nil when it is not installed.
    static let program = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    private let directory: TemporaryDirectory
    private let chromium: RunningProgram
    private let page: WebSocket
    private var calls = 0
    /// What the page made the browser complain about: console, exceptions, content policy, network.
    private(set) var complaints: [String] = []
    private var isLoaded = false
    /// Service workers by what they are for.
    private var workers: [String: String] = [:]

    init() async throws {
        directory = try TemporaryDirectory()
        chromium = try RunningProgram(
            path: Self.program ?? "chromium",
            [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--no-first-run", "--disable-background-networking", "--disable-component-update",
                "--disable-extensions", "--no-proxy-server", "--remote-debugging-port=0",
                "--user-data-dir=" + directory.path + "/profile", "about:blank",
            ])
        let line = try await chromium.line(containing: "DevTools listening on ")
        guard
            let port = UInt16(
                try ServiceUnderTest.word(after: "127.0.0.1:", in: line).prefix { $0 != "/" })
        else { throw TestFailure(line) }
        let client = try LoopbackClient(port: port)
        try client.send("PUT /json/new?about:blank HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
        let answer = try JSONSerialization.jsonObject(with: Data(client.receiveResponse().body))
        guard let id = (answer as? [String: Any])?["id"] as? String else {
            throw TestFailure("no page")
        }
        page = try WebSocket(port: port, path: "/devtools/page/\(id)")
        for domain in ["Page", "Runtime", "Log", "Network", "ServiceWorker"] {
            try call("\(domain).enable")
        }
    }

    /// Ends it; its profile is in use until then.
    func stop() async {
        chromium.signal(SIGTERM)
        _ = await chromium.exit()
    }

    /// Opens a page of this size and waits until it is loaded.
    /// - Parameter scheme: `light` or `dark`.
    func open(_ url: String, width: Int, height: Int, scheme: String = "light") throws {
        try call(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 800])
        try call(
            "Emulation.setEmulatedMedia",
            ["features": [["name": "prefers-color-scheme", "value": scheme]]])
        isLoaded = false
        try call("Page.navigate", ["url": url])
        while !isLoaded { take(try message()) }
    }

    /// Sends `Accept-Language` with every request from now on.
    func prefer(_ language: String) throws {
        try call("Network.setExtraHTTPHeaders", ["headers": ["Accept-Language": language]])
    }

    /// Allows every page to show notifications.
    func allowNotifications() throws {
        try call("Browser.grantPermissions", ["permissions": ["notifications"]])
    }

    /// Runs a script in every page from now on, before those of the page.
    func prepare(_ script: String) throws {
        try call("Page.addScriptToEvaluateOnNewDocument", ["source": script])
    }

    /// Delivers a push message to the service worker of an origin, as a push service does.
    func push(to origin: String) throws {
        guard let worker = workers[origin + "/"] else { throw TestFailure("no worker: \(workers)") }
        try call(
            "ServiceWorker.deliverPushMessage",
            ["origin": origin, "registrationId": worker, "data": ""])
    }

    /// Ends all service workers, wherever they are.
    func stopWorkers() throws { try call("ServiceWorker.stopAllWorkers") }

    /// A PNG of what is to be seen, or of the whole page.
    func screenshot(ofAll: Bool = false) throws -> Data {
        let answer = try call(
            "Page.captureScreenshot", ["format": "png", "captureBeyondViewport": ofAll])
        guard let text = answer["data"] as? String, let image = Data(base64Encoded: text) else {
            throw TestFailure("no screenshot")
        }
        return image
    }

    /// What an expression is, or its promise becomes, asked from outside: the page's own policy
    /// allows no script.
    func value<Value>(_ expression: String, as type: Value.Type = Value.self) throws -> Value {
        let answer = try call(
            "Runtime.evaluate",
            ["expression": expression, "returnByValue": true, "awaitPromise": true])
        guard let result = answer["result"] as? [String: Any], let value = result["value"] as? Value
        else { throw TestFailure("\(answer)") }
        return value
    }

    @discardableResult
    private func call(
        _ method: String, _ parameters: [String: Any] = [:]
    ) throws -> [String: Any] {
        calls += 1
        let number = calls
        let call: [String: Any] = ["id": number, "method": method, "params": parameters]
        try page.send(Array(try JSONSerialization.data(withJSONObject: call)))
        while true {
            let message = try message()
            guard message["id"] as? Int == number else {
                take(message)
                continue
            }
            guard let result = message["result"] as? [String: Any] else {
                throw TestFailure("\(method): \(message)")
            }
            return result
        }
    }

    private func message() throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(with: Data(page.receive()))
        return object as? [String: Any] ?? [:]
    }

    private func take(_ event: [String: Any]) {
        let name = event["method"] as? String
        switch name {
        case "Page.loadEventFired": isLoaded = true
        case "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown",
            "Network.loadingFailed":
            complaints.append("\(event["params"] ?? name ?? "")")
        case "ServiceWorker.workerRegistrationUpdated":
            let parameters = event["params"] as? [String: Any]
            for each in parameters?["registrations"] as? [[String: Any]] ?? [] {
                guard let scope = each["scopeURL"] as? String else { continue }
                workers[scope] = each["registrationId"] as? String
            }
        default: break
        }
    }
}

/// The client's side of RFC 6455, as far as a peer on this machine takes it.
private final class WebSocket {
    private let client: LoopbackClient

    init(port: UInt16, path: String) throws {
        client = try LoopbackClient(port: port)
        try client.send(
            "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: Upgrade\r\n"
                + "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
        let head = try client.receive(through: "\r\n\r\n")
        guard head.hasPrefix("HTTP/1.1 101 ") else { throw TestFailure(head) }
    }

    /// One text message, masked by zeros (RFC 6455 §5.3: for caches in between, of which there are
    /// none here).
    func send(_ bytes: [UInt8]) throws {
        var frame: [UInt8] = [0x81]
        if bytes.count < 126 {
            frame.append(0x80 | UInt8(bytes.count))
        } else {
            precondition(bytes.count <= UInt16.max)
            frame += [0x80 | 126, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
        }
        try client.send(frame + [0, 0, 0, 0] + bytes)
    }

    /// The next message, put together from its frames (RFC 6455 §5.4).
    func receive() throws -> [UInt8] {
        var message: [UInt8] = []
        while true {
            let head = try client.receive(exactly: 2)
            var count = Int(head[1] & 0x7F)
            if count >= 126 {
                let length = try client.receive(exactly: count == 126 ? 2 : 8)
                count = length.reduce(0) { $0 << 8 | Int($1) }
            }
            let payload = try client.receive(exactly: count)
            switch head[0] & 0x0F {
            case 0...2: message += payload
            case 8: throw TestFailure("the browser closed the page")
            default: continue
            }
            if head[0] & 0x80 != 0 { return message }
        }
    }
}
