import Foundation
import TestSupport
import Testing
import WakeSystem

/// `GET /` of the built service, looked at with a browser as people have it.
@Suite(
    "The page for people in a browser",
    .enabled(if: Browser.program != nil, "chromium is not installed (apt: chromium)"),
    .timeLimit(.minutes(5)))
struct PeoplePageTests {
    /// Phone, desktop, and the narrowest that must not scroll sideways (WCAG 2.2, 1.4.10).
    private static let sizes = [(390, 844), (1280, 900), (320, 640)]

    @Test("it is readable at phone and desktop width, in light and dark, and nothing complains")
    func rendered() async throws {
        let service = try await ServiceUnderTest()
        let browser = try await Browser()
        for (width, height) in Self.sizes {
            try browser.open("about:blank", width: width, height: height)
            let blank = try browser.screenshot()
            for scheme in ["light", "dark"] {
                try browser.open(service.url + "/", width: width, height: height, scheme: scheme)
                let image = try browser.screenshot()
                #expect(Self.size(of: image) == [width, height])
                #expect(image.count > 5 * blank.count, "\(image.count) \(blank.count)")
                try Self.keep(try browser.screenshot(ofAll: true), "\(width)-\(scheme)")
                let widths: [Int] = try browser.value(
                    "[document.documentElement.scrollWidth, innerWidth]")
                #expect(widths[0] <= widths[1], "\(widths)")
                let contrast: Double = try browser.value(Self.leastContrast)
                #expect(contrast >= 4.5, "\(width) \(scheme)")
            }
        }
        #expect(browser.complaints == [])
        await browser.stop()
    }

    @Test("it tells a screen reader its language, its headings in order, and what columns are")
    func structure() async throws {
        let service = try await ServiceUnderTest()
        let browser = try await Browser()
        try browser.open(service.url + "/", width: 390, height: 844)
        #expect(try browser.value("document.documentElement.lang") == "en")
        #expect(try browser.value("document.title") == "Your data at this service")
        let levels: [Int] = try browser.value(
            "[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => +h.tagName[1])")
        #expect(levels.first == 1 && levels.count { $0 == 1 } == 1 && levels.count > 5)
        #expect(zip(levels, levels.dropFirst()).allSatisfy { $1 - $0 <= 1 })
        func count(_ selector: String) throws -> Int {
            try browser.value("document.querySelectorAll('\(selector)').length")
        }
        #expect(try count("main") == 1 && count("table") == 1)
        #expect(try count("th") >= 3 && count("th:not([scope])") == 0)
        #expect(try count("img:not([alt]), a:empty, [tabindex], [style]") == 0)
        #expect(
            try browser.value("[...document.querySelectorAll('a')].every(a => a.text.length > 3)"))
        let viewport: String = try browser.value(
            "document.querySelector('meta[name=viewport]').content")
        #expect(viewport == "width=device-width, initial-scale=1", "zooming stays allowed")
        // Nothing runs, and nothing came but the page itself.
        #expect(try count("script, iframe, object, embed, form, link[rel=stylesheet]") == 0)
        #expect(try browser.value("performance.getEntriesByType('resource').length") == 0)
        let text: String = try browser.value("document.body.innerText")
        #expect(text.contains("not counted yet"))
        #expect(text.contains("The operator has made no audit"))
        #expect(browser.complaints == [])
        await browser.stop()
    }

    @Test(
        "it speaks the reader's language, as narrow as any",
        arguments: [
            ("de-AT,de;q=0.9,en;q=0.5", "de", "Was dieser Dienst über Sie weiß"),
            ("fr-CA", "fr", "Ce que ce service sait de vous"),
            ("pt,es;q=0.5", "es", "Lo que este servicio sabe de usted"),
            ("pt", "en", "Your data at this service"),
        ])
    func languages(preferred: String, language: String, title: String) async throws {
        let service = try await ServiceUnderTest()
        let browser = try await Browser()
        try browser.prefer(preferred)
        try browser.open(service.url + "/", width: 320, height: 640)
        #expect(try browser.value("document.documentElement.lang") == language)
        #expect(try browser.value("document.querySelector('h1').innerText") == title)
        let widths: [Int] = try browser.value(
            "[document.documentElement.scrollWidth, innerWidth]")
        #expect(widths[0] <= widths[1], "\(widths)")
        // Without [relay] there is no such file.
        let text: String = try browser.value("document.body.innerText")
        #expect(!text.contains("installations") && text.contains("checkpoint"))
        try Self.keep(try browser.screenshot(ofAll: true), "320-\(language)")
        #expect(browser.complaints == [])
        await browser.stop()
    }

    @Test("the control: a page that is too wide, pale, and breaks its own policy is found")
    func control() async throws {
        let browser = try await Browser()
        let page = """
            data:text/html,<meta http-equiv=Content-Security-Policy content="default-src 'none'">\
            <style>p{color:red}</style><script>1</script>\
            <table width=3000><td bgcolor=silver><font color=white>pale</table>
            """
        try browser.open(page, width: 1280, height: 900)
        let widths: [Int] = try browser.value("[document.documentElement.scrollWidth, innerWidth]")
        #expect(widths[0] > widths[1])
        #expect(try browser.value(Self.leastContrast, as: Double.self) < 2)
        #expect(browser.complaints.count >= 2)
        await browser.stop()
    }

    @Test("an audit that was told is on it")
    func audited() async throws {
        let service = try await ServiceUnderTest()
        let browser = try await Browser()
        let audit = try await service.command(
            "audit", service.data, "--tell")
        #expect(audit.status == 0, "\(audit.output)")
        try browser.open(service.url + "/", width: 390, height: 844)
        let text: String = try browser.value("document.body.innerText")
        let hash = try ServiceUnderTest.word(after: "sha256      ", in: audit.output)
        #expect(text.contains("found no violation") && text.contains(hash))
        #expect(browser.complaints == [])
        await browser.stop()
    }

    /// The least contrast of any text with what is behind it (WCAG 2.2, "contrast ratio").
    private static let leastContrast = """
        (() => {
            const numbers = text => text.match(/[0-9.]+/g).map(Number)
            const luminance = color => numbers(color).slice(0, 3).map(value => value / 255)
                .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
                .reduce((sum, value, place) => sum + value * [0.2126, 0.7152, 0.0722][place], 0)
            const ground = element => {
                for (; element; element = element.parentElement) {
                    const color = getComputedStyle(element).backgroundColor
                    if ((numbers(color)[3] ?? 1) > 0) return color
                }
                return 'rgb(255, 255, 255)'
            }
            const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
            let least = 21.5
            while (walker.nextNode()) {
                const element = walker.currentNode.parentElement
                if (!walker.currentNode.data.trim() || element.tagName == 'STYLE') continue
                const pair = [getComputedStyle(element).color, ground(element)].map(luminance)
                const [dark, light] = pair.sort((one, other) => one - other)
                least = Math.min(least, (light + 0.05) / (dark + 0.05))
            }
            return least + 0.0001
        })()
        """

    /// Width and height as a PNG's header has them (RFC 2083 §11.2.1).
    private static func size(of image: Data) -> [Int] {
        [16, 20].map { start in image[start..<start + 4].reduce(0) { $0 << 8 | Int($1) } }
    }

    /// For people to look at: into a folder of theirs.
    private static func keep(_ image: Data, _ name: String) throws {
        guard let folder = ProcessInfo.processInfo.environment["REVEILLE_SCREENSHOTS"] else {
            return
        }
        try image.write(to: URL(filePath: folder).appending(path: "page-\(name).png"))
    }
}
