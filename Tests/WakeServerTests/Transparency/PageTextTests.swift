import TestSupport
import Testing
import WakeSystem

@testable import WakeServer

@Suite("The languages of the privacy page")
struct PageTextTests {
    private static func placeholders(_ text: String) -> Set<Substring> {
        Set(text.split(separator: "{").dropFirst().compactMap { $0.split(separator: "}").first })
    }

    @Test("there are four, English first, and each says everything with the same values")
    func complete() {
        #expect(PageText.all.map(\.language) == ["en", "de", "es", "fr"])
        let english = PageText.all[0]
        for text in PageText.all {
            for part in PageText.Part.allCases {
                #expect(!text[part].isEmpty, "\(text.language): \(part)")
                #expect(
                    Self.placeholders(text[part]) == Self.placeholders(english[part]),
                    "\(text.language): \(part)")
                // None is left in another's words.
                let others = PageText.all.filter { $0.language != text.language }
                #expect(
                    part == .bytes || others.allSatisfy { $0[part] != text[part] },
                    "\(text.language): \(part)")
            }
        }
    }

    @Test("each says of the order of the rows what the policy says: 6 of 10, where 5 are chance")
    func order() throws {
        let policy = try Repository.text("Policy/PRIVACY.md").split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        #expect(policy.contains("tells the later one in 6 of 10 cases at most; 5 would be chance"))
        for text in PageText.all {
            let numbers = text[.storedNote].split { !$0.isNumber }.compactMap { Int($0) }
            #expect(numbers == [6, 10, 5], "\(text.language)")
        }
    }

    @Test("each describes every column and every file of the policy in force, and no other")
    func described() {
        for text in PageText.all {
            for column in PolicyDocument.inForce.columns {
                // The policy itself is in English.
                #expect((text.column(column.name) != nil) == (text.language != "en"))
            }
            for file in PolicyDocument.inForce.state { #expect(text.file(file.name) != nil) }
            #expect(text.column("birthday") == nil && text.file("birthdays") == nil)
        }
    }

    @Test(
        "the reader's best language is taken (RFC 9110 section 12.5.4), else English",
        arguments: [
            ([], "en"), ([""], "en"), (["de"], "de"), (["de-AT"], "de"),
            (["DE-at, en;q=0.5"], "de"),
            (["en;q=0.5, fr;q=0.9"], "fr"), (["pt, es;q=0.3"], "es"), (["pt-BR,pt;q=0.9"], "en"),
            (["de;q=0, es;q=0.001"], "es"), (["*"], "en"), (["en", "fr"], "en"),
            (["fr ; Q=1.000,de"], "fr"), (["de;q=1.1, es"], "de"), (["de;q=x, es"], "es"),
            (["de;q=0.1234, fr"], "fr"), (["de;q=, es"], "es"), (["de;a=b;q=1, es"], "es"),
            ([";q=1,,, fr"], "fr"), (["dex, es"], "es"),
        ] as [([String], String)])
    func preferred(fields: [String], language: String) {
        let place = PageText.preferred(fields.map { Array($0.utf8)[...] })
        #expect(PageText.all[place].language == language)
    }

    @Test("a field without an end is read to a bound")
    func bounded() {
        let many = Array(String(repeating: "xx,", count: 10_000).utf8) + Array("de".utf8)
        #expect(PageText.preferred([many[...]]) == 0)
    }
}
