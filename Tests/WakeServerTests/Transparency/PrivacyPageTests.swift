import Foundation
import Synchronization
import TestSupport
import Testing
import WakeHTTP
import WakeSystem

@testable import WakeServer

@Suite("The privacy page")
struct PrivacyPageTests {
    private let counters = PublicCounters(registrations: 1234, broadcasts: 7)

    private func html(
        _ page: PrivacyPage = PrivacyPage(), audit: AuditVerdict? = nil, language: Int = 0
    ) -> String {
        page.html(counters, audit: audit, in: PageText.all[language])
    }

    @Test("it is rendered when something has changed, and not for each reader")
    func rendering() throws {
        let route = TransparencyRoute(PrivacyPage(retentionDays: 14))
        func page() throws -> [UInt8] {
            guard case .bytes(let bytes) = route.page(0).body else { throw TestFailure("no page") }
            return bytes
        }
        func isSame(_ left: [UInt8], _ right: [UInt8]) -> Bool {
            unsafe left.withUnsafeBufferPointer { left in
                unsafe right.withUnsafeBufferPointer { unsafe left.baseAddress == $0.baseAddress }
            }
        }
        let first = try page()
        #expect(isSame(first, try page()))
        route.setAudit(AuditVerdict(violations: 0, fileHash: Array(repeating: 0xAB, count: 32)))
        let second = try page()
        #expect(!isSame(first, second))
        #expect(isSame(second, try page()))
        #expect(String(decoding: second, as: UTF8.self).contains("abababab"))
        route.update(PublicCounters(registrations: 1, broadcasts: 0))
        #expect(!isSame(second, try page()))
    }

    @Test("it says in every language until when clients ignore wake-ups, as soon as they do")
    func paused() throws {
        let until = Mutex<Int64?>(nil)
        let route = TransparencyRoute(PrivacyPage()) { until.withLock { $0 } }
        for language in PageText.all.indices {
            func says() throws -> Bool {
                guard case .bytes(let bytes) = route.page(language).body else {
                    throw TestFailure("no page")
                }
                return bytes.holds(Array("2026-11-28 10:35 UTC".utf8))
            }
            #expect(try !says())
            until.withLock { $0 = 1_795_862_123 }
            #expect(try says())
            until.withLock { $0 = nil }
            #expect(try !says())
        }
    }

    @Test("it shows every column of the policy, with its size")
    func columns() {
        let html = html()
        #expect(PolicyDocument.inForce.columns.map(\.name) == ["id", "sealed"])
        for column in PolicyDocument.inForce.columns {
            #expect(html.contains("<code>\(column.name)</code>"))
            #expect(html.contains("\(column.length ?? -1) bytes"))
            #expect(html.contains(PrivacyPage.escaped(column.description)))
        }
    }

    @Test("it shows every file beside the database that the policy names, and the policy's hash")
    func state() {
        let html = html()
        #expect(!PolicyDocument.inForce.state.isEmpty)
        for file in PolicyDocument.inForce.state {
            #expect(html.contains("<dt><code>\(file.name)</code></dt>"))
        }
        #expect(html.contains(PrivacyPolicy.hash))
    }

    @Test("what is off has no file, and who runs the service is said as the operator says it")
    func configured() {
        let owner = PrivacyPage.Operator(name: "A & B", contact: "privacy@example.org")
        let page = html(PrivacyPage(operator: owner, absentFiles: ["apns-token"]))
        #expect(!page.contains("apns-token") && page.contains("<code>reserve</code>"))
        #expect(page.contains("<p>A &amp; B</p>"))
        #expect(page.contains("<a href=\"mailto:privacy@example.org\">"))
        let place = PrivacyPage.Operator(name: "A", contact: "https://example.org/\"><script>")
        let escaped = html(PrivacyPage(operator: place))
        #expect(escaped.contains("<a href=\"https://example.org/&quot;&gt;&lt;script&gt;\">"))
        #expect(!html().contains("Who runs"))
    }

    @Test("a policy with another column makes another page")
    func derived() throws {
        let text = String(decoding: PrivacyPolicy.document, as: UTF8.self)
            .replacing(#""name": "sealed""#, with: #""name": "birth<day>""#)
        let policy = try PolicyDocument(Array(text.utf8))
        let html = html(PrivacyPage(policy, hash: ""))
        #expect(html.contains("<code>birth&lt;day&gt;</code>"))
        #expect(!html.contains("<code>sealed</code>"))
    }

    @Test("it says for how long: what the policy says, or what the operator has chosen")
    func life() throws {
        #expect(html().contains("at most 14 days"))
        let chosen = html(PrivacyPage(retentionDays: 60))
        #expect(chosen.contains("at most 60 days"))
        let endless = html(PrivacyPage(try PolicyDocument(Array("{}".utf8))))
        #expect(endless.contains("<p>Until your app deletes it.</p>"))
    }

    @Test("it shows what is counted for everybody, and says what was not counted yet")
    func counts() {
        let html = html()
        #expect(html.contains("<td>1234</td>") && html.contains("<td>7</td>"))
        #expect(!html.contains("not counted yet"))
        let first = PrivacyPage().html(PublicCounters(), audit: nil, in: PageText.all[0])
        #expect(first.components(separatedBy: "<td>not counted yet</td>").count == 2)
    }

    @Test("the last audit is shown with its hash, and its absence is said")
    func audit() {
        let hash = [UInt8](repeating: 0xAB, count: 32)
        let clean = AuditVerdict(violations: 0, fileHash: hash)
        #expect(html(audit: clean).contains(String(repeating: "ab", count: 32)))
        #expect(html(audit: clean).contains("<strong>no violation</strong>"))
        let found = AuditVerdict(violations: 3, fileHash: hash)
        #expect(html(audit: found).contains("violations: 3"))
        let unhashed = AuditVerdict(violations: 0, fileHash: [])
        #expect(html(audit: unhashed).contains("SHA-256 is not known, as the service was writing"))
        #expect(html().contains("no audit since"))
    }

    @Test("the body of an audit's verdict comes back as it was, and nothing else is taken")
    func verdicts() throws {
        let verdict = AuditVerdict(violations: 2, fileHash: [UInt8](0..<32))
        #expect(try AuditVerdict(verdict.encode()) == verdict)
        let unhashed = AuditVerdict(violations: 0, fileHash: [])
        #expect(try AuditVerdict(unhashed.encode()) == unhashed)
        let refused = [
            "", "{}", #"{"violations":1}"#, #"{"violations":-1,"sha256":"00"}"#,
            #"{"violations":1,"sha256":"zz"}"#, #"{"violations":1,"sha256":"<b>","more":1}"#,
        ]
        for body in refused {
            #expect(throws: (any Error).self, "\(body)") { try AuditVerdict(Array(body.utf8)) }
        }
    }

    @Test(
        "no script, nothing from elsewhere, one language, one heading of the first rank",
        arguments: PageText.all.indices)
    func plain(language: Int) {
        let html = html(language: language)
        for forbidden in ["<script", "http://", "https://", "<img", "<iframe", "onload", "style="] {
            #expect(!html.contains(forbidden), "\(forbidden)")
        }
        #expect(html.contains("<html lang=\"\(PageText.all[language].language)\">"))
        // Every value is in its place.
        #expect(html.components(separatedBy: "</style>").last?.contains("{") == false)
        #expect(html.components(separatedBy: "<h1>").count == 2)
    }

    @Test("every pair of colours is told apart by weak eyes: at least 7 to 1, in both schemes")
    func contrast() throws {
        // WCAG 2.2, "relative luminance" and "contrast ratio".
        func luminance(_ hex: Substring) -> Double {
            let digits = hex.count == 3 ? hex.flatMap { [$0, $0] } : Array(hex)
            let channels = stride(from: 0, to: 6, by: 2).map { index -> Double in
                let value = Double(Int(String(digits[index...index + 1]), radix: 16) ?? 0) / 255
                return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
            }
            return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]
        }
        let schemes = PrivacyPage.style.components(separatedBy: ":root{").dropFirst()
        #expect(schemes.count == 2)
        for scheme in schemes {
            func colour(_ name: String) throws -> Double {
                let text = try #require(scheme.firstRange(of: "--\(name):#"))
                return luminance(scheme[text.upperBound...].prefix { $0.isHexDigit })
            }
            for ground in ["paper", "soft"] {
                for ink in ["ink", "link"] {
                    let pair = [try colour(ground), try colour(ink)].sorted()
                    #expect((pair[1] + 0.05) / (pair[0] + 0.05) >= 7, "\(ink) on \(ground)")
                }
            }
        }
    }
}
