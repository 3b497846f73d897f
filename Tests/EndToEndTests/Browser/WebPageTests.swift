import Foundation
import TestSupport
import Testing
import WakeModel

@Suite(
    "The sample page with its worker, in Chromium",
    .enabled(if: Browser.program != nil, "chromium is not installed (apt: chromium)"),
    .timeLimit(.minutes(10)))
struct WebPageTests {
    /// A push service gives no endpoint to a browser of a test: the page gets this one.
    private static let subscription = """
        PushManager.prototype.getSubscription = async () => globalThis.subscription ?? null;
        PushManager.prototype.subscribe = async options => globalThis.subscription = {
            options, unsubscribe: async () => delete globalThis.subscription,
            toJSON: () => ({endpoint: "https://push.example.org/page", expirationTime: null, keys: {
                p256dh: "BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tKfA-eFivOM1dr"
                    + "MV7Oy7ZAaDe_UfU",
                auth: "AAAAAAAAAAAAAAAAAAAAAA"}}),
        };
        """

    /// The sample's files with a configuration, as a web server has them.
    private struct Site {
        let directory: TemporaryDirectory
        let program: RunningProgram
        let origin: String

        init() async throws {
            directory = try TemporaryDirectory()
            let sample = Repository.absolute("Tests/Examples/Browser")
            for name in ["index.html", "app.js", "worker.js", "shared.js"] {
                try FileManager.default.copyItem(
                    atPath: "\(sample)/\(name)", toPath: "\(directory.path)/\(name)")
            }
            try FileManager.default.copyItem(
                atPath: Repository.absolute("Sources/reveille-js"),
                toPath: directory.path + "/reveille")
            program = try RunningProgram(
                path: "/usr/bin/env",
                [
                    "python3", "-u", "-m", "http.server", "0", "--bind", "127.0.0.1",
                    "--directory", directory.path,
                ])
            let line = try await program.line(containing: "Serving HTTP on ")
            origin = "http://127.0.0.1:\(try #require(line.firstMatch(of: /port ([0-9]+)/)).1)"
        }

        /// The page that Deploy/BROWSER.md shows, with the names of a service.
        func show(_ service: ServiceUnderTest) throws {
            let document = try Repository.text("Deploy/BROWSER.md")
            var page = String(try #require(document.firstMatch(of: /```html\n((?s).*?)```/)).1)
            for (shown, here) in [
                ("https://feed.example.org/", service.url + "/"), ("FEED_KEY", service.feedKey),
                ("https://wake.example.org/", service.url + "/"),
            ] {
                #expect(page.contains(shown))
                page = page.replacing(shown, with: here)
            }
            try page.write(
                toFile: directory.path + "/shown.html", atomically: true, encoding: .utf8)
        }

        func configure(_ service: ServiceUnderTest) throws {
            try """
            export const config = {feed: "\(service.url)/feed/", feedKey: "\(service.feedKey)",
                service: "\(service.url)/"};
            """.write(toFile: directory.path + "/config.js", atomically: true, encoding: .utf8)
        }
    }

    private func add(_ secret: TestDevice, _ name: String, in browser: Browser) throws {
        let bytes = secret.push.map(String.init).joined(separator: ",")
        try value(
            "await add('\(name)', Uint8Array.of(\(bytes))) ?? 1", in: browser, as: Int.self)
    }

    /// Waits in the page until an expression is true, and returns what another one is.
    @discardableResult
    private func value<Value>(
        _ expression: String, when condition: String = "true", in browser: Browser,
        as type: Value.Type = Value.self
    ) throws -> Value {
        try browser.value(
            """
            (async () => {
                const {client, add} = await import("./shared.js");
                const worker = await navigator.serviceWorker.ready;
                const notifications = async title =>
                    (await worker.getNotifications()).filter(each => each.title.startsWith(title));
                const items = () => document.querySelectorAll("#matches li").length;
                const wake = client(() => { throw new Error("not shown here"); });
                while (!(\(condition))) await new Promise(resume => setTimeout(resume, 50));
                return \(expression);
            })()
            """)
    }

    @Test("the page that Deploy/BROWSER.md shows hears of a broadcast, and shows the match")
    func document() async throws {
        let site = try await Site()
        let service = try await ServiceUnderTest(extra: "origins = \(site.origin)")
        try site.show(service)
        let browser = try await Browser()
        try browser.open(site.origin + "/shown.html", width: 800, height: 600)
        let secret = Array("a secret of 16 bytes or more".utf8)
        let hex = String(decoding: Hex.encode(secret.span), as: UTF8.self)
        _ = try await service.publish([hex], notes: [], "--then-broadcast")
        let shown = try browser.value(
            """
            (async () => {
                const items = () => document.querySelectorAll("#matches li");
                while (items().length === 0) await new Promise(resume => setTimeout(resume, 50));
                return items()[0].textContent;
            })()
            """, as: String.self)
        #expect(shown == "visit")
        await browser.stop()
    }

    @Test("registers at the real service, is pushed, checks the feed and shows a notification")
    func story() async throws {
        let site = try await Site()
        let service = try await ServiceUnderTest(
            extra: "origins = \(site.origin)",
            sections: "\n[webpush]\nkey = keys/vapid.key\nhosts = any\n")
        try site.configure(service)
        let browser = try await Browser()
        try browser.allowNotifications()
        try browser.prepare(Self.subscription)
        try browser.open(site.origin + "/", width: 800, height: 600)
        let secrets = [TestDevice(), TestDevice(), TestDevice()]
        for (number, secret) in secrets.enumerated() {
            try add(secret, "visit \(number)", in: browser)
        }
        try value("document.getElementById('register').click() ?? 1", in: browser, as: Int.self)
        let status = try value(
            "JSON.stringify(await wake.status())",
            // And the page's cycle is over.
            when: """
                !document.getElementById('register').disabled
                    && (await wake.status()).registration === 'registered'
                """, in: browser,
            as: String.self)
        #expect(status.contains("\"failure\":null"), "\(status)")
        #expect(try service.rows() == 1)

        _ = try await service.publish([secrets[0].pushText], notes: ["look now"])
        try browser.push(to: site.origin)
        let shown = try value(
            "(await notifications('This concerns')).map(each => each.title + each.body).join()",
            when: "(await notifications('This concerns')).length > 0", in: browser, as: String.self)
        #expect(shown == "This concerns you: visit 0look now")

        // Nothing new: a push shows that it looked, and the match is not shown again.
        try browser.push(to: site.origin)
        let count = try value(
            "(await notifications('This concerns')).length",
            when: "(await notifications('Looked')).length > 0", in: browser, as: Int.self)
        #expect(count == 1)

        // The worker and three clients of a page at once: each match once.
        _ = try await service.publish(secrets[1...].map(\.pushText), notes: [], "--again")
        try browser.push(to: site.origin)
        try value(
            """
            await Promise.all([1, 2, 3].map(number => client(match =>
                worker.showNotification("Page: " + match.secretID)).cycle())) && 1
            """, in: browser, as: Int.self)
        let all = try value(
            """
            (await worker.getNotifications()).map(each => each.title.split(": ")[1] ?? "")
                .filter(text => text.startsWith("visit")).sort().join()
            """,
            when: "(await worker.getNotifications()).length > 3", in: browser, as: String.self)
        #expect(all == "visit 0,visit 1,visit 2")

        // A worker that is ended at any moment loses no match, and doubles none.
        let more = [TestDevice(), TestDevice(), TestDevice()]
        for (number, secret) in more.enumerated() {
            try add(secret, "kill \(number)", in: browser)
            _ = try await service.publish([secret.pushText], notes: [], "--again")
        }
        for milliseconds in [200, 1100, 1250, 1400] {
            try browser.push(to: site.origin)
            try value(
                "await new Promise(resume => setTimeout(resume, \(milliseconds))) ?? 1",
                in: browser, as: Int.self)
            try browser.stopWorkers()
        }
        try browser.push(to: site.origin)
        let kept = try value(
            """
            (await notifications("This concerns you: kill")).map(each => each.title.slice(-1))
                .sort().join()
            """,
            when: "(await notifications('This concerns you: kill')).length > 2", in: browser,
            as: String.self)
        #expect(kept == "0,1,2")

        try value("document.getElementById('unregister').click() ?? 1", in: browser, as: Int.self)
        let left = try value(
            "(await wake.status()).registration",
            when: "(await wake.status()).registration === 'none'", in: browser, as: String.self)
        #expect(left == "none")
        #expect(try service.rows() == 0)
        // Chromium calls a request canceled whose answer, 204, has no body.
        let complaints = browser.complaints.filter {
            !$0.contains("favicon") && !$0.contains("\"canceled\": 1")
        }
        #expect(complaints == [])
        await browser.stop()
    }
}
